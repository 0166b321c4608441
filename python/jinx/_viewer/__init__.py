"""`jinx view`: a local web server that shows datasets, and its page."""
