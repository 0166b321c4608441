"""The dataset: one class over functions that select, read columns, export and summarize."""
