"""Annotates texts with parts of speech and dependencies, using spaCy pipelines."""

from collections.abc import Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from jinx_pipeline.models.pretrained import ModelFilesError
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.needed_files import NeededFile
from jinx_pipeline.optional import require

_BATCH: Final = 128
# Components that no operator needs.
_UNUSED: Final = ["ner", "lemmatizer", "textcat"]


def pipeline_name(lang: str, model: str | None) -> str:
    """The directory or package of a pipeline; by default spaCy's medium one for a language."""
    return model or f"{lang}_core_web_md"


def needed_pipeline(parameter: str, name: str) -> NeededFile:
    """The pipeline in a parameter: a directory, or an installed package."""
    is_there = Path(name).is_dir() or (name.isidentifier() and find_spec(name) is not None)
    return NeededFile(parameter, name, is_there)


def load_pipeline(name: str, device: str) -> Any:
    """A spaCy pipeline, for `Context.model`; it runs on the CPU.

    Raises:
        ModelFilesError: There is no such directory or package, or it is not a pipeline.
    """
    del device
    spacy = require("spacy", extra="spacy", what="A pipeline of spaCy")
    try:
        return spacy.load(name, exclude=_UNUSED)
    except (OSError, ValueError) as error:
        raise ModelFilesError(f"{name} is not a pipeline of spaCy: {error}") from error


def documents(name: str, texts: Sequence[str], ctx: Context, *, needs: Sequence[str]) -> Iterator[Any]:
    """Each text as spaCy's `Doc`.

    Args:
        name: The directory or package of the pipeline.
        texts: The texts.
        ctx: The context of the operator.
        needs: Annotations that the pipeline must make: `TAG`, `POS`, `DEP`.

    Raises:
        ModelFilesError: The pipeline makes other annotations.
    """
    pipeline = ctx.model(name, load_pipeline)
    for document in pipeline.pipe(texts, batch_size=_BATCH):
        for annotation in needs:
            if len(document) and not document.has_annotation(annotation):
                raise ModelFilesError(f"{name} has no component that sets {annotation}; take a pipeline with one")
        yield document
