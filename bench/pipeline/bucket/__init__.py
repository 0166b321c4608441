"""The pipeline with everything in a bucket: wall time next to a disk, requests of a block, the cost of a large run."""
