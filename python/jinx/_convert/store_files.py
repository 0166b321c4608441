"""Files in the stores that the core can read, as inputs of `convert`: has the methods of fsspec's file systems."""

import re
from typing import Any

from jinx._object_store import ObjectStore

# Not http: web servers do not list files, and their URLs may have queries.
SCHEMES = ("s3", "gs", "az")


class StoreFiles:
    """A file system over buckets, whose paths are URLs."""

    def __init__(self) -> None:
        self._store = ObjectStore()

    def exists(self, url: str) -> bool:
        """Whether there is an object with this URL."""
        return self._store.exists(url)

    isfile = exists

    def isdir(self, url: str) -> bool:
        """Whether there are objects below a URL that is not an object itself."""
        return not self.exists(url) and bool(self._store.list(url.rstrip("/"), recursive=False))

    def find(self, url: str) -> list[str]:
        """All objects below a URL."""
        return [found.url for found in self._store.list(url.rstrip("/"))]

    def glob(self, pattern: str) -> list[str]:
        """The objects that match a pattern; `*` does not match `/`, and `**` matches any number of directories."""
        first = re.search(r"[*?\[]", pattern)
        directory = pattern[: first.start() if first else None].rpartition("/")[0]
        matches = re.compile(_as_expression(pattern)).fullmatch
        return [url for url in self.find(directory) if matches(url)]

    def info(self, url: str) -> dict[str, Any]:
        """Facts that show whether an object has changed."""
        found = self._store.head(url)
        return {"size": found.size, "ETag": found.tag}

    def get_file(self, url: str, path: str) -> None:
        """Copy an object to a new file."""
        self._store.get_file(url, path)

    def unstrip_protocol(self, url: str) -> str:
        """The path, which is already a URL."""
        return url


def _as_expression(pattern: str) -> str:
    parts = re.split(r"(\*\*/?|\*|\?|\[[^\]]+\])", pattern)
    known = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}

    def expression(part: str) -> str:
        if part.startswith("[") and part.endswith("]"):
            return part.replace("[!", "[^", 1)
        return known.get(part) or re.escape(part)

    return "".join(map(expression, parts))
