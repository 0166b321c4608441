"""MDS readers beside each other: mosaicml-streaming's, MLDataForge's and ours."""
