"""The prompts for captions, which samples may contain."""

from collections.abc import Sequence

from jinx_pipeline.operators.api.batch import Batch
from jinx_pipeline.sample.media import Media


def prompts_of(
    batch: Batch, media: Sequence[Sequence[Media]], column: str | None, default: str | None
) -> list[str | None]:
    """The prompt for each medium.

    Args:
        batch: The samples.
        media: The media of each sample.
        column: The column with the prompt of a sample; None if there is none.
        default: The prompt of samples without one.

    Raises:
        TypeError: A prompt is not a text.
    """
    values = [None] * len(media) if column is None else batch.column(column)
    for value in values:
        if value is not None and not isinstance(value, str):
            raise TypeError(f"{column} is not a text: {value!r:.60}")
    return [value or default for value, of_sample in zip(values, media, strict=True) for _ in of_sample]
