"""The common part of operators whose model takes texts in padded batches."""

from jinx_pipeline.operators.api.operator import Operator


class PaddedTexts(Operator):
    """Runs a model on texts that are padded to the longest in a batch, which affects how sums are rounded."""

    @property
    def depends_on_batch(self) -> bool:
        return True
