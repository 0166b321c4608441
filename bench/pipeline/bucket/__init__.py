"""The pipeline with everything in a bucket: throughput next to a disk, requests of a block, and what a large run costs."""
