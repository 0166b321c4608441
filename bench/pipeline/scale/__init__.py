"""The driver side of a run on 12,800 workers, which are simulated: `make bench-scale`."""
