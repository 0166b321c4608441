"""Records and errors that all layers share."""
