"""The operator pipeline next to Data-Juicer, and its own targets."""
