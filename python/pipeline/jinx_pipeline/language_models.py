"""Trains language models on the texts of a dataset."""

import os
import tempfile
from itertools import islice
from pathlib import Path

import jinx
from jinx_pipeline import kernels
from jinx_pipeline.sample.paths import parse
from jinx_pipeline.sample.texts import texts_at

_AT_ONCE = 1000


def train(
    source: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    text: str = "text",
    order: int = 5,
    unit: kernels.Unit = "word",
    limit: int | None = None,
    overwrite: bool = False,
) -> int:
    """Train an n-gram model on the texts of a dataset, and write it atomically as an ARPA file.

    Args:
        source: Any dataset that jinx reads.
        out: The ARPA file.
        text: The column or path of the texts.
        order: The number of words in the longest n-grams, 1 to 10.
        unit: `"word"` or `"character"`.
        limit: Use only this many samples from the beginning.
        overwrite: Replace an existing file.

    Returns:
        The number of samples that it was trained on.

    Raises:
        FileExistsError: `out` exists.
        TypeError: A value at `text` is not a text; the message names the sample.
        InvalidError: No text has a word.
    """
    target = Path(out)
    if target.exists() and not overwrite:
        raise FileExistsError(f"{out} exists; to replace it: --overwrite")
    steps = parse(text)
    trainer = kernels.LanguageModelTrainer(order, unit=unit)
    texts: list[str] = []
    count = 0
    for sample in islice(jinx.stream(source), limit):
        try:
            texts += texts_at(sample, steps)
        except TypeError as error:
            raise TypeError(f"{source}: sample {count}: {error}") from None
        count += 1
        if len(texts) >= _AT_ONCE:
            trainer.add(texts)
            texts = []
    trainer.add(texts)
    _write_atomically(target, trainer.arpa())
    return count


def _write_atomically(target: Path, data: bytes) -> None:
    with tempfile.NamedTemporaryFile(dir=target.parent, prefix=f".{target.name}.", delete=False) as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            Path(file.name).chmod(0o644)
            Path(file.name).replace(target)
        except BaseException:
            Path(file.name).unlink(missing_ok=True)
            raise
