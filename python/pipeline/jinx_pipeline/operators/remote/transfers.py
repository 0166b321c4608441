"""The base classes of operators that download and upload files."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final
from urllib.parse import unquote, urlsplit

from jinx_pipeline.operators.api.batch import REMOVED, Batch
from jinx_pipeline.operators.api.context import Context
from jinx_pipeline.operators.api.operator_kinds import Mapper
from jinx_pipeline.operators.api.parameters import NotEmpty, ParameterError, Range
from jinx_pipeline.sample.media import Media
from jinx_pipeline.sample.remote.body import Source
from jinx_pipeline.sample.remote.download import Limits, read, save
from jinx_pipeline.sample.remote.s3_source import variable
from jinx_pipeline.sample.roles import Roles

_LONGEST_NAME: Final = 100


class Transfers(Mapper):
    """Replaces or reads the files named in a field, several at once.

    If some files of a batch fail, the others are not transferred again when the engine looks for the bad row.

    Attributes:
        max_concurrent: The maximum number of files at once.
    """

    max_concurrent: Annotated[int, Range(1, 1000)] = 10

    batch_size = 64
    pure = False  # the content of servers changes
    may_probe = False
    trust = "connects to servers"

    # The finished transfers of a batch that failed, until the engine has called again with each part of the batch.
    _done: "ClassVar[Mapping[Any, Future[Any]]]" = {}

    def transferred(self, items: Sequence[Any], transfer: Callable[[Any], Any]) -> list[Any]:
        """The results for items; all are tried before the first error is raised."""
        done = dict(self._done) if any(item in self._done for item in items) else {}
        with ThreadPoolExecutor(self.max_concurrent) as pool:
            done |= {item: pool.submit(transfer, item) for item in dict.fromkeys(items) if item not in done}
        has_failed = any(done[item].exception() is not None for item in items)
        used = set[Any]() if has_failed else set(items)
        kept = {item: future for item, future in done.items() if item not in used}
        self._done = kept  # pyright: ignore[reportAttributeAccessIssue] - set for this instance only
        return [done[item].result() for item in items]

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_done"}


class Downloads(Transfers):
    """Downloads the files named in a field.

    Attributes:
        download_field: The column with a URL, or a list of URLs. A path stays.
        save_dir: A directory for the files; their paths replace the URLs. A file has the name in its URL, and a digest
            of the URL.
        save_field: A column for the contents; by default `image_bytes`, if there is no `save_dir`.
        resume_download: Files that are in `save_dir`, and contents that are in `save_field`, are not downloaded again.
        timeout: Seconds that a server may take for each piece of an answer.
        max_seconds: Seconds that a file may take in all.
        max_bytes: The largest size of a file.
    """

    download_field: Annotated[str, NotEmpty()]
    save_dir: str | None = None
    save_field: str | None = None
    resume_download: bool = False
    timeout: Annotated[float, Range(0.001, 86_400)] = 30
    max_seconds: Annotated[float, Range(0.001, 604_800)] = 3600
    max_bytes: Annotated[int, Range(1)] = 4 << 30

    @abstractmethod
    def source(self) -> Source:
        """The server from which files are downloaded."""

    @abstractmethod
    def is_url(self, text: str) -> bool:
        """Whether a string is a URL of the source; other strings are paths."""

    @property
    def content_field(self) -> str | None:
        """The column for the contents."""
        return self.save_field or (None if self.save_dir else "image_bytes")

    @property
    def reads(self) -> tuple[str, ...]:
        return (self.download_field,)

    @property
    def writes(self) -> tuple[str, ...]:
        paths = [self.download_field] if self.save_dir else []
        return (*paths, *filter(None, [self.content_field]))

    def check(self) -> None:
        if self.content_field == self.download_field:
            raise ParameterError(self.name, "save_field", "save_field is the column of the URLs; name another")

    def process(self, batch: Batch, ctx: Context) -> Mapping[str, Any]:
        ctx.begins(0)  # each file gets its own time limit
        samples = batch.samples()
        wanted: list[list[str]] = []
        for value, sample in zip(batch.column(self.download_field), samples, strict=True):
            urls = listed(value, self.download_field)
            is_known = self.resume_download and self.content_field and sample.get(self.content_field) is not None
            wanted.append([] if is_known and not self.save_dir else urls)
        limits, source = Limits(self.max_bytes, self.max_seconds), self.source()
        flat = [url for urls in wanted for url in urls]
        results = iter(self.transferred(flat, lambda url: self._transferred(url, source, limits, batch.roles)))
        columns: dict[str, list[Any]] = {name: [] for name in self.writes}
        for urls, sample in zip(wanted, samples, strict=True):
            pairs = [next(results) for _ in urls]
            value = sample.get(self.download_field, REMOVED)
            for name, number in self._columns():
                parts = [pair[number] for pair in pairs]
                old = sample.get(name, REMOVED)
                columns[name].append(like(value, parts) if urls or old is REMOVED else old)
        return columns

    def _columns(self) -> list[tuple[str, int]]:
        paths = [(self.download_field, 0)] if self.save_dir else []
        return paths + ([(self.content_field, 1)] if self.content_field else [])

    def _transferred(self, text: str, source: Source, limits: Limits, roles: Roles) -> tuple[str, bytes | None]:
        """The path and the content of a file."""
        if not self.is_url(text):
            return text, Media(text, roles).bytes if self.content_field else None
        if not self.save_dir:
            return text, read(source, text, limits)
        file = Path(self.save_dir) / file_name(text)
        if not (self.resume_download and file.is_file()):
            save(source, text, file, limits)
        return str(file), file.read_bytes() if self.content_field else None


def file_name(url: str) -> str:
    """The name for a downloaded file: that in the URL, with a digest, because other URLs may end in the same name."""
    name = unquote(urlsplit(url).path.rpartition("/")[2])
    plain = "".join(character if character.isalnum() or character in "._-" else "_" for character in name).lstrip(".")
    stem, dot, suffix = plain.rpartition(".") if "." in plain else (plain, "", "")
    digest = blake2b(url.encode(), digest_size=6).hexdigest()
    return f"{stem[:_LONGEST_NAME]}-{digest}{dot}{suffix[:16]}"


def listed(value: Any, field: str) -> list[str]:
    """The strings in a field that is a string or a list; missing and empty ones are left out.

    Raises:
        TypeError: It is something else.
    """
    values = value if isinstance(value, list | tuple) else [value]  # pyright: ignore[reportUnknownVariableType]
    found = [element for element in values if element is not None and element != ""]  # pyright: ignore[reportUnknownVariableType]
    if not all(isinstance(element, str) for element in found):  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
        raise TypeError(f"{field} is a string or a list of strings")
    return found  # pyright: ignore[reportUnknownVariableType]


def like(value: Any, results: Sequence[Any]) -> Any:
    """The results, nested like the URLs; None for a missing URL."""
    remaining = iter(results)
    if isinstance(value, list | tuple):
        return [None if element is None or element == "" else next(remaining) for element in value]  # pyright: ignore[reportUnknownVariableType]
    return next(remaining, None)


def check_secret(operator: str, parameter: str, value: str | None) -> None:
    """Refuse a secret in a recipe, because plans, logs and datasets would show it.

    Raises:
        ParameterError: The value is not the name of an environment variable.
    """
    if value is not None and variable(value) is None:
        problem = f"{parameter} is the name of an environment variable, such as $AWS_SECRET; secrets are not in recipes"
        raise ParameterError(operator, parameter, problem)
