"""The output of a run, made of its parts."""
