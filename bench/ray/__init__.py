"""The pipeline on Ray next to Ray Data while nodes, workers and drivers die."""

OURS, RAY_DATA, REFERENCES, DATA_JUICER = "jinx", "Ray Data", "Ray Data, references", "Data-Juicer"
