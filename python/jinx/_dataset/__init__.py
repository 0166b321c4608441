"""The dataset: one class over functions that select samples, read columns, export and summarize."""
