"""Makes the output of a run from its parts."""
