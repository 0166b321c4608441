"""The pipeline on Ray next to Ray Data while nodes, workers and drivers die."""
