"""The service for language models, by the Model Context Protocol."""
