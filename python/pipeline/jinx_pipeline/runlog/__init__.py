"""The record of what a run has done, from which it is resumed."""
