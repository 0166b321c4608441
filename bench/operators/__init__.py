"""Text operators next to Data-Juicer's: the same results, and the time that they take."""
