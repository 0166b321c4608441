"""Operators on images and traces next to Data-Juicer's: results and speed."""
