"""The records of a run log: what is decided and done in a run, each of them one line of JSON.

Every record names the epoch of the driver that wrote it. A node of the plan is named by a digest of what it makes; a
block is a range of its rows.
"""

from typing import Any

from msgspec import Struct

from jinx_pipeline.model.receipt import Receipt

# Increased when the records, or the plan in the header, change.
VERSION = 2


class Record(Struct, kw_only=True, tag_field="kind", tag=str.lower):
    """A line of a run log.

    Attributes:
        epoch: Of its driver; the log sets it.
    """

    epoch: int = 0


class Header(Record, kw_only=False):
    """The first record: what is run on what.

    Attributes:
        version: Of the records.
        run: The id of the run.
        digest: Of the plan.
        plan: The plan, with the recipe, the identities of the inputs and the versions of the packages.
    """

    version: int
    run: str
    digest: str
    plan: dict[str, Any]


class Epoch(Record, kw_only=False):
    """A driver has taken over the run; records of earlier epochs that come after it do not count.

    Attributes:
        driver: A token of its process.
    """

    driver: str


class Committed(Record, kw_only=False):
    """A task is done.

    Attributes:
        node: Which node.
        block: Which block of it.
        first: The first row of the block that the task had.
        rows: How many rows it had.
        attempt: The number of the attempt; -1 for a row that was given up.
        receipt: What the worker has reported.
    """

    node: str
    block: int
    first: int
    rows: int
    attempt: int
    receipt: Receipt


class Forgotten(Record, kw_only=False):
    """What was committed of a block no longer counts.

    Attributes:
        node: Which node.
        block: Which block of it.
    """

    node: str
    block: int


class Partitions(Record, kw_only=False):
    """Into how many partitions the keys of a node are divided.

    Attributes:
        node: Which node.
        count: Their number.
        keys_at_once: How many keys a task may hold.
    """

    node: str
    count: int
    keys_at_once: int


class Decided(Record, kw_only=False):
    """A global operator has decided.

    Attributes:
        node: Which node.
        place: Of the operator in the recipe.
        files: The digest of each file in `decisions/` that holds the decision, by name.
        rows_in: Rows that it looked at.
        rows_out: Rows that remain.
        seconds: Wall time of the decision.
        cpu_seconds: CPU time of it.
        counts: What else the operator tells, such as samples without a key.
        pairs: The first duplicates, and what they repeat.
    """

    node: str
    place: int
    files: dict[str, str]
    rows_in: int
    rows_out: int
    seconds: float
    cpu_seconds: float
    counts: dict[str, int]
    pairs: list[tuple[int, int]]


class Publishing(Record, kw_only=False):
    """Before anything is written: which blocks become the output.

    Attributes:
        generation: Counts the publications of the run.
        first_block: The first block.
        end_block: The block after the last one.
        rows: Rows of the input that are then in the output, or left out.
        append: Whether the blocks are added to the output.
        replaces: What lies in the output's place and may be replaced; None: nothing.
    """

    generation: int
    first_block: int
    end_block: int
    rows: int
    append: bool
    replaces: dict[str, Any] | None


class Built(Record, kw_only=False):
    """The output is complete next to its place, and gets its name next.

    Attributes:
        generation: As in `Publishing`.
        output: What it holds.
    """

    generation: int
    output: dict[str, Any] | None


class Published(Record, kw_only=False):
    """The output is in its place.

    Attributes:
        generation: As in `Publishing`.
        first_block: The first block.
        end_block: The block after the last one.
        rows: Rows of the input that are in the output, or left out.
        samples: Samples of the output.
        bytes: Bytes of the output.
        output: What the output holds.
    """

    generation: int
    first_block: int
    end_block: int
    rows: int
    samples: int
    bytes: int
    output: dict[str, Any] | None


class Grown(Record, kw_only=False):
    """The input has more rows at its end.

    Attributes:
        inputs: The identities of the inputs from here on.
        paths: Where they are.
        rows: Their rows.
        blocks: The rows of each block that is added.
        facts: The file in `decisions/` with what the footers of the inputs say together; None: nothing.
        meta: What the output says of its origin from here on.
    """

    inputs: list[dict[str, Any]]
    paths: list[str]
    rows: int
    blocks: list[int]
    facts: str | None
    meta: dict[str, Any]


AnyRecord = Header | Epoch | Committed | Forgotten | Partitions | Decided | Publishing | Built | Published | Grown
