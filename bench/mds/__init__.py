"""MDS readers compared: mosaicml-streaming's, MLDataForge's and ours."""
