"""MinHash deduplication that keeps the lowest id: the operator `document_minhash_deduplicator_with_uid`."""

import pyarrow as pa

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.registry import register
from jinx_pipeline.operators.dedup.document_minhash_deduplicator import DocumentMinhashDeduplicator

_UID = "uid"


@register("document_minhash_deduplicator_with_uid", modality="text")
class DocumentMinhashDeduplicatorWithUid(DocumentMinhashDeduplicator):
    """Like `document_minhash_deduplicator`, but the sample with the lowest number in each cluster stays.

    If new samples have larger numbers, old samples stay when both are deduplicated together.

        text = "one of many words that are repeated here"
        samples = [{"text": text, "__dj__uid": 2}, {"text": text, "__dj__uid": 1}]
        create("document_minhash_deduplicator_with_uid")(samples)  # [{"text": text, "__dj__uid": 1}]

    Attributes:
        uid_field: The column or path with an integer for each sample; of equal integers, the first sample stays.
    """

    uid_field: str = "__dj__uid"

    first_by = _UID

    @property
    def reads(self) -> tuple[str, ...]:
        return (*super().reads, self.uid_field)

    def signatures(self, batch: Batch, ctx: Context) -> pa.Table:
        numbers = batch.column(self.uid_field)
        for number in numbers:
            if not isinstance(number, int) or isinstance(number, bool):
                raise TypeError(f"{self.name}: {self.uid_field} is {number!r}; it is an integer")
        return super().signatures(batch, ctx).append_column(_UID, pa.array(numbers, pa.int64()))
