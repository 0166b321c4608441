"""What PyTorch needs: a dataset is a map-style dataset as it is, `collate` makes batches, `Loader` reads ahead."""

from jinx.torch.collate import collate
from jinx.torch.loader import Loader

__all__ = ["Loader", "collate"]
