"""`jinx.annotate`: counts the lengths of all samples and saves them as a view."""

import os
import pickle
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from jinx._annotate.counting import FunctionCounter, TokenCounter
from jinx._annotate.counting_settings import counted_columns, function_setting
from jinx._annotate.encoder import Encoder
from jinx._annotate.lengths import Block, Gathered
from jinx._annotate.worker import Worker
from jinx._arguments import worker_number
from jinx._dataset.added_columns import with_columns
from jinx._dataset.dataset import Dataset
from jinx._dataset.selection import drop_columns
from jinx._open import open
from jinx._outputs import output_name, refuse_existing, refuse_within
from jinx._results import WriteResult
from jinx._saved_views.meta import COUNTED
from jinx._saved_views.save import save
from jinx._user_code import FileFunction

Progress = Callable[[int, int, int | None], None]
_Counter = TokenCounter | FunctionCounter

_BLOCK_SAMPLES = 256
# With fewer samples than this, starting processes takes longer than the work.
_FEW_SAMPLES = 2048
_BLOCKS_AHEAD = 3


def annotate(
    dataset: Dataset | str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    tokenizer: Any = None,
    chat_template: str | os.PathLike[str] = "auto",
    image_rule: str | Callable[[int, int], Any] | None = None,
    image_token: str | None = None,
    text_column: str | None = None,
    image_column: str | None = None,
    function: Callable[[Any], Any] | None = None,
    tokens: bool = False,
    workers: int | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> WriteResult:
    """Count what each sample costs in training, and save the counts as a view of the dataset.

        jinx.annotate("train.jinx", "lengths.jinx", tokenizer="model/", image_rule="qwen-vl")
        jinx.open("lengths.jinx")["num_tokens"]

    The view has the columns `num_tokens` (image tokens included), `num_label_tokens` (those that count in the loss),
    `num_images` and `num_patches`, all indexed, and keeps how they were counted. A size that was not counted has no
    column: images if there is no rule, or counts that a function does not return. The dataset itself does not change.
    Image sizes come from the headers of the files: no pixel is decoded.

    The counts describe the current values of the columns. If a counted column gets other values (`with_columns`, a
    pipeline), `jinx.pack` and the loaders refuse the counts until the dataset is annotated again.

    Args:
        dataset: A dataset, a view, or the path of one.
        out: The view; its name ends in `.jinx`.
        tokenizer: The path of a `tokenizer.json` or of the directory that holds it, a `tokenizers.Tokenizer`, or a fast
            tokenizer of `transformers`.
        chat_template: A file with a Jinja template; `"auto"` takes the one that came with the tokenizer. Plain text
            needs no template, and all of it counts in the loss.
        image_rule: Tokens and patches of an image by its size: `"fixed:64"`; `"tiles:size=448,max=12,tokens=256"` as
            InternVL; `"qwen-vl:patch=14,merge=2,min_pixels=3136,max_pixels=1003520"`; or a function of width and height
            that returns tokens, or tokens and patches. If there is no rule, images cost nothing and are not counted.
        image_token: The token that stands for an image; by default the first common image token in the vocabulary.
        text_column: The column with the conversation or text; by default `messages`, `conversations`, `texts` or
            `text`.
        image_column: The column with the image or images; by default `images` or `image`.
        function: Counts instead of the tokenizer. It takes a sample and returns the number of tokens, or a dict with
            `num_tokens` and any of the other three columns (and with `input_ids` and `label_mask` for `tokens`); the
            names must be the same for each sample. The view keeps its name and a digest of its code and of the values
            it uses.
        tokens: Also keep the token ids (`input_ids`) and a mask of the ids that count in the loss (`label_mask`), as
            arrays, so that training need not tokenize.
        workers: Processes; by default one per core. Few samples, and functions that the script itself defines, are
            counted in this process.
        overwrite: Replace an existing view, in one step when the new one is complete.
        progress: Called with samples done, bytes (0) and None.

    Raises:
        FileExistsError: The view exists, and `overwrite` is not set.
        InvalidError: A sample cannot be encoded, or has a count that other samples lack; the message names the sample.
        TypeError: The function uses a value that has no stable form across processes, such as a lock.
        ValueError: Neither a tokenizer nor a function was given, or both; the file does not hold a tokenizer; or the
            view would become a file of the dataset.
    """
    if workers is not None:
        workers = worker_number("workers", workers, least=0)
    # If a function from a file calls sys.exit, only a worker process may exit, because this one would seem to have
    # finished.
    least = 1 if isinstance(function, FileFunction) else 0
    target = output_name(out)
    if not overwrite:
        refuse_existing(target)
    refuse_within(target, dataset)
    source = dataset if isinstance(dataset, Dataset) else open(dataset)
    plain = source._derive(decoders=None)
    if plain._transforms:
        raise TypeError("annotate counts stored samples; add what map returns as columns: ds.with_columns(...)")
    options = {
        "image_rule": image_rule,
        "image_token": image_token,
        "text_column": text_column,
        "image_column": image_column,
    }
    if function is not None:
        if tokenizer is not None or any(value is not None for value in options.values()):
            raise ValueError("a function counts by itself: it takes no tokenizer, image rule, image token or columns")
        counter, vocabulary = FunctionCounter(plain, function, tokens=tokens), 1 << 32
        # The function may read any column.
        settings: dict[str, Any] = {"function": function_setting(function)}
        looked_at = plain.column_names
    elif tokenizer is None:
        raise ValueError("what counts the tokens? Give tokenizer= (--tokenizer PATH) or function= (--code FILE:NAME)")
    else:
        # The columns of files without samples may be unknown.
        columns = plain.column_names or ([] if len(plain) else _usual_columns(text_column, image_column))
        encoder = Encoder(columns, tokenizer, chat_template=chat_template, **options)  # pyright: ignore[reportArgumentType]
        counter, vocabulary = TokenCounter(plain, encoder, tokens=tokens), encoder.vocabulary
        settings, looked_at = encoder.settings(), encoder.columns
    folder = os.path.dirname(os.path.abspath(target))  # noqa: PTH100, PTH120 - str in, str out
    with Gathered(folder, counter.names, vocabulary if tokens else None) as gathered:
        done = 0
        for block in _blocks(counter, workers, least):
            gathered.add(block)
            done += len(block)
            if progress is not None:
                progress(done, 0, None)
        counts = gathered.columns()
        # Drop columns from an earlier count that are not counted now: they would contradict the new settings.
        outdated = [name for name in counted_columns(plain) if name not in counts and name in plain.column_names]
        view = with_columns(drop_columns(source._derive(decoders=None), outdated), counts, None, "null")
        settings["columns"] = [name for name in looked_at if name not in {*counts, *outdated}]
        settings["counts"] = list(counts)
        return save(view, target, overwrite=overwrite, meta={COUNTED: settings})


def _usual_columns(text: str | None, image: str | None) -> list[str]:
    return [text or "messages", *([] if image is None else [image])]


def _blocks(counter: _Counter, workers: int | None, least: int) -> Iterator[Block]:
    """The lengths of all samples, block by block in order."""
    total = len(counter.dataset)
    ranges = [(start, min(start + _BLOCK_SAMPLES, total)) for start in range(0, total, _BLOCK_SAMPLES)]
    processes = max(least, _processes(total) if workers is None else workers)
    sent = _pickled(counter, required=workers is not None or least > 0) if processes else None
    if sent is None:
        yield from (counter.count(*bounds) for bounds in ranges)
        return
    free: SimpleQueue[Worker] = SimpleQueue()
    started: list[Worker] = []

    def count(start: int, stop: int) -> Block:
        worker = free.get()
        try:
            return worker.count(start, stop)
        finally:
            free.put(worker)

    pool = ThreadPoolExecutor(processes)
    try:
        for _ in range(min(processes, len(ranges))):
            started.append(Worker(sent))
            free.put(started[-1])
        waiting: deque[Future[Block]] = deque()
        for bounds in ranges:
            waiting.append(pool.submit(count, *bounds))
            if len(waiting) >= _BLOCKS_AHEAD * processes:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in started:
            worker.close()
        pool.shutdown()


def _processes(samples: int) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return cores if samples >= _FEW_SAMPLES and cores > 1 else 0


def _pickled(counter: _Counter, *, required: bool) -> bytes | None:
    """The pickled counter for worker processes; None if it contains functions that cannot be pickled.

    Raises:
        TypeError: The counter cannot be pickled, and processes were asked for.
    """
    try:
        data = pickle.dumps(counter)
    except (pickle.PicklingError, AttributeError, TypeError):
        data = b""
    # Worker processes do not run the caller's script, so they cannot find functions that it defines.
    if data and b"__main__" not in data:
        return data
    if required:
        raise TypeError("a function that processes call must be in a module, not in the script; or give workers=0")
    return None
