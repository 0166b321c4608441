"""The pipeline for clips next to other programs that do the same, tables, and graphs next to chains."""
