"""The records of a run log: the decisions and finished work of a run, each one line of JSON.

Every record names the epoch of the driver that wrote it. The id of a node of the plan is a digest of its work; a block
is a range of the rows of a node.
"""

from typing import Any

from msgspec import Struct

from jinx_pipeline.model.receipt import PortPart, Receipt

# Increase this when the records, or the plan in the header, change.
VERSION = 5


class Record(Struct, kw_only=True, tag_field="kind", tag=str.lower):
    """A line of a run log.

    Attributes:
        epoch: The epoch of the driver; the log sets it.
    """

    epoch: int = 0


class Header(Record, kw_only=False):
    """The first record: the plan of the run.

    Attributes:
        version: The version of the records.
        run: The id of the run.
        digest: The digest of the plan.
        plan: The plan, with the recipe, the identities of the inputs and the versions of the packages.
    """

    version: int
    run: str
    digest: str
    plan: dict[str, Any]


class Epoch(Record, kw_only=False):
    """A driver has taken over the run; later records of earlier epochs do not count.

    Attributes:
        driver: A token of its process.
    """

    driver: str


class Committed(Record, kw_only=False):
    """A task is done.

    Attributes:
        node: The node.
        block: The block of the node.
        first: The first row of the task, counted in the block.
        rows: How many rows it had.
        attempt: The number of the attempt; -1 for a row that was given up.
        receipt: The receipt of the worker.
    """

    node: str
    block: int
    first: int
    rows: int
    attempt: int
    receipt: Receipt


class FoundRow(Struct, gc=False):
    """More details about a row that was left out."""


class ReceiptOutput(Struct, gc=False):
    """What a ledger needs of a receipt; the rest, such as the figures of operators, is most of a log.

    Attributes:
        part: As in `Receipt`, like all others.
        rows_out: Rows of the part.
        bytes_out: Its size.
        bad: The rows that were left out.
        ports: The output of other ports.
        media: The file with the states of media files.
        end: A digest of the end of the part.
        lanes: The output of further lanes.
    """

    part: str | None
    rows_out: int
    bytes_out: int = 0
    bad: list[FoundRow] = []
    ports: dict[str, PortPart] = {}
    media: str | None = None
    end: str | None = None
    lanes: list[PortPart] = []


class CommittedOutput(Record, kw_only=False, tag="committed"):
    """A `Committed` record as a ledger reads it: without most of the receipt.

    Attributes:
        node: As in `Committed`, like all others.
        block: The block of the node.
        first: The first row of the task.
        rows: How many rows it had.
        attempt: The number of the attempt.
        receipt: The output in the receipt.
    """

    node: str
    block: int
    first: int
    rows: int
    attempt: int
    receipt: ReceiptOutput


class Forgotten(Record, kw_only=False):
    """The committed work of a block no longer counts.

    Attributes:
        node: The node.
        block: The block of the node.
    """

    node: str
    block: int


class Discarded(Record, kw_only=False):
    """The committed work, decisions and partitions of nodes no longer count, because their input rows have changed.

    Attributes:
        nodes: The nodes.
    """

    nodes: list[str]


class Partitions(Record, kw_only=False):
    """The number of partitions into which the keys of a node are divided.

    Attributes:
        node: The node.
        count: The number of partitions.
        keys_at_once: How many keys a task may hold in memory.
    """

    node: str
    count: int
    keys_at_once: int


class Decided(Record, kw_only=False):
    """A global operator has decided.

    Attributes:
        node: The node.
        place: The place of the operator in the recipe.
        files: The digest of each file in `decisions/` that holds the decision, by name.
        rows_in: Rows before the decision.
        rows_out: Rows that remain.
        seconds: Wall time of the decision.
        cpu_seconds: CPU time of the decision.
        counts: Other counts of the operator, such as samples without a key.
        pairs: The ids of the first duplicates, each with that of the row that it repeats.
        growth: How many times the input had grown.
        ends: The length of the decision each time that the input had grown and rows were only added at its end; the
            blocks after the decision begin again at each of them.
    """

    node: str
    place: int
    files: dict[str, str]
    rows_in: int
    rows_out: int
    seconds: float
    cpu_seconds: float
    counts: dict[str, int]
    pairs: list[tuple[str, str]]
    growth: int = 0
    ends: list[int] = []


class Publishing(Record, kw_only=False):
    """The blocks that become the output, recorded before anything is written.

    Attributes:
        generation: The number of the publication, from 0.
        first_block: The first block.
        end_block: The block after the last one.
        rows: Rows of the input that are in the output or left out afterwards.
        append: Whether the blocks are appended to the output.
        replaces: The identity of the output that may be replaced; None if there is none.
        number: The number of the output.
        others: Samples that others had written to the output, if this run appends to it.
    """

    generation: int
    first_block: int
    end_block: int
    rows: int
    append: bool
    replaces: dict[str, Any] | None
    number: int = 0
    others: int = 0


class Built(Record, kw_only=False):
    """The output is complete next to its path; the next step moves it there.

    Attributes:
        generation: As in `Publishing`.
        output: The identity of the output.
        number: The number of the output.
    """

    generation: int
    output: dict[str, Any] | None
    number: int = 0


class Published(Record, kw_only=False):
    """The output is at its path.

    Attributes:
        generation: As in `Publishing`.
        first_block: The first block.
        end_block: The block after the last one.
        rows: Rows of the input that are in the output or left out.
        samples: Samples of the output.
        bytes: The size of the output in bytes.
        output: The identity of the output.
        number: The number of the output.
        others: As in `Publishing`.
    """

    generation: int
    first_block: int
    end_block: int
    rows: int
    samples: int
    bytes: int
    output: dict[str, Any] | None
    number: int = 0
    others: int = 0


class Grown(Record, kw_only=False):
    """Rows were appended to the input.

    Attributes:
        inputs: The new identities of the inputs.
        paths: The new paths of the inputs.
        rows: The new number of rows.
        blocks: The rows of each block that is added.
        facts: The file in `decisions/` with the combined facts of the footers of the inputs; None if there is none.
        meta: The new `meta` of the output.
    """

    inputs: list[dict[str, Any]]
    paths: list[str]
    rows: int
    blocks: list[int]
    facts: str | None
    meta: dict[str, Any]


_Other = Header | Epoch | Forgotten | Discarded | Partitions | Decided | Publishing | Built | Published | Grown
AnyRecord = Committed | _Other
# The records that can be applied to a ledger.
AppliedRecord = CommittedOutput | _Other
