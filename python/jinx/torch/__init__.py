"""What PyTorch needs: a dataset is a map-style dataset as it is, `collate` makes batches of its samples."""

from jinx.torch.collate import collate

__all__ = ["collate"]
