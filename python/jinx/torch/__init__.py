"""Loaders for PyTorch: batches that threads read ahead, packs of samples, and orders that any ranks can resume."""

from jinx._optional import require

require("torch", extra="torch", what="jinx.torch")  # before importing modules that import torch

from jinx.torch._collate import collate  # noqa: E402
from jinx.torch._elastic_loader import ElasticLoader  # noqa: E402
from jinx.torch._encoding import TrainingSample  # noqa: E402
from jinx.torch._loader import Loader  # noqa: E402
from jinx.torch._loss import token_loss  # noqa: E402
from jinx.torch._mrope import MRope  # noqa: E402
from jinx.torch._packed_dataset import PackedDataset  # noqa: E402
from jinx.torch._packed_loader import PackedDataLoader, PackedStats  # noqa: E402
from jinx.torch._packed_stream import PackedStream  # noqa: E402
from jinx.torch._references import References  # noqa: E402

__all__ = [
    "ElasticLoader",
    "Loader",
    "MRope",
    "PackedDataLoader",
    "PackedDataset",
    "PackedStats",
    "PackedStream",
    "References",
    "TrainingSample",
    "collate",
    "token_loss",
]
