"""The service for language models, which uses the Model Context Protocol."""
