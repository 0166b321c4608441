"""The requests and answers of the REST interface; OpenAPI is made from them."""

from typing import Annotated, Any, Literal

from msgspec import Meta, Struct

JobState = Literal["queued", "running", "cancelling", "succeeded", "failed", "cancelled"]
Count = Annotated[int, Meta(ge=0, le=1 << 53)]
Page = Annotated[int, Meta(ge=1, le=240)]


class Request(Struct, forbid_unknown_fields=True):
    """The parameters or the body of a request."""


class SearchQuery(Request):
    """Which operators to list."""

    query: Annotated[str, Meta(max_length=2000, description="Words; without them, all operators are listed.")] = ""
    limit: Annotated[int, Meta(ge=1, le=1000)] = 1000


class RowsQuery(Request):
    """Which rows to list."""

    start: Count = 0
    count: Page = 60
    where: Annotated[str, Meta(max_length=4000, description="An expression, as for `jinx cat --where`.")] = ""
    find: Annotated[str, Meta(max_length=4000, description="A word that a string of the sample has.")] = ""
    sort: Annotated[str, Meta(max_length=1000, description="A column, or `-column`.")] = ""


class StatsQuery(Request):
    """Which statistics to compute."""

    columns: Annotated[str, Meta(max_length=4000, description="Columns, separated by commas.")] = ""
    where: Annotated[str, Meta(max_length=4000)] = ""


class MediaQuery(Request):
    """Which binary value to read."""

    sample: Count
    path: Annotated[str, Meta(max_length=2000, description='A JSON list, such as `["image"]`.')]


class OffsetQuery(Request):
    """Where to begin."""

    offset: Count = 0


class ListQuery(Request):
    """Which part of a list to return."""

    start: Count = 0
    count: Page = 100


class PlanRequest(Request):
    """A recipe to check and try."""

    recipe: Annotated[str, Meta(max_length=1 << 20)] | dict[str, Any]
    samples: Annotated[int, Meta(ge=0, le=10_000, description="How many samples of each source to try.")] = 1000


class JobRequest(Request):
    """A plan to run."""

    plan: Annotated[str, Meta(max_length=100)]


class Problem(Struct, omit_defaults=True):
    """An error as defined in RFC 9457; `code` is for programs, and `problems` are the mistakes of a recipe."""

    title: str
    status: int
    code: str
    detail: str
    problems: list[dict[str, Any]] = []


class OperatorFacts(Struct):
    """An operator in the list."""

    name: str
    kind: str
    modality: str
    summary: str


class OperatorList(Struct):
    """Operators; for a query, the best come first."""

    operators: list[OperatorFacts]


class OperatorAnswer(OperatorFacts):
    """An operator, with its documentation and the JSON Schema of its parameters."""

    text: str
    stats: list[str]
    schema: dict[str, Any]


class DatasetList(Struct):
    """The names of datasets."""

    datasets: list[str]


class DatasetAnswer(Struct):
    """A dataset; `view` is the URL of its page, relative to that of the service."""

    name: str
    samples: int
    columns: list[str]
    view: str


class ColumnList(Struct):
    """The columns of a dataset, with the types that their values have."""

    columns: list[dict[str, Any]]


class RowList(Struct):
    """Rows; `complete` is false while the search for a word continues."""

    rows: list[dict[str, Any]]
    total: int
    complete: bool


class StatsAnswer(Struct):
    """Counts of the values of columns; `waiting` is true while they are computed."""

    charts: list[dict[str, Any]]
    kept: int
    complete: bool
    waiting: bool


class PlanAnswer(Struct):
    """A checked recipe, and what it did to a few samples."""

    id: str
    recipe: dict[str, Any]
    reads: list[str]
    writes: list[str]
    operators: list[str]
    dry_run: dict[str, Any] | None


class Progress(Struct):
    """How far a job has come."""

    rows: int
    done: int
    kept: int
    failed: int


class JobAnswer(Struct):
    """A job."""

    id: str
    plan: str
    state: JobState
    created: float
    started: float | None
    ended: float | None
    starts: int
    reads: list[str]
    writes: list[str]
    error: str | None
    progress: Progress | None
    result: dict[str, Any] | None


class JobList(Struct):
    """Jobs, newest first."""

    jobs: list[JobAnswer]
    total: int


class LogAnswer(Struct):
    """A part of a log; the next part begins at `next`."""

    text: str
    next: int
    ended: bool


class QuarantineAnswer(Struct):
    """Rows on which something failed."""

    rows: list[dict[str, Any]]
    total: int
