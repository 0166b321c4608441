"""The class `Dataset`, and the functions behind its methods: selecting samples, reading columns, export, summaries."""
