"""The class `Dataset`, and the functions behind its methods: select samples, read columns, export, summarize."""
