"""Operators on videos and sounds next to Data-Juicer's: results and speed."""
