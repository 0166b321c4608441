"""An object store in memory that is late, loses answers, and fails, for everything that the pipeline keeps in one."""

import itertools
import threading
from collections.abc import Callable
from pathlib import Path

from jinx.errors import MismatchError

Fault = Callable[[str, str], str | None]


class Info:
    def __init__(self, url: str, size: int, tag: str) -> None:
        self.url, self.size, self.tag, self.modified = url, size, tag, 0.0


class Found:
    def __init__(self, data: bytes, tag: str) -> None:
        self.data, self.tag = data, tag


class Objects:
    """As `jinx._object_store.ObjectStore`.

    Attributes:
        faults: Each is asked with the name of a method and a URL before the call, and says what happens to it: "fail":
            nothing is done, and the call fails; "lost": it is done, and the call fails; "twice": a late request does it
            once more; None: nothing.
        calls: The calls, each with its URL.
    """

    def __init__(self) -> None:
        self.data: dict[str, Found] = {}
        self.faults: list[Fault] = []
        self.calls: list[tuple[str, str]] = []
        self.is_conditional = True
        self._tags = itertools.count()
        self._lock = threading.RLock()

    def _do(self, method: str, url: str, call):
        with self._lock:
            self.calls.append((method, url))
            said = {fault(method, url) for fault in self.faults}
            if "fail" in said:
                raise TimeoutError(f"{url}: no answer")
            result = call()
            if "lost" in said:
                raise TimeoutError(f"{url}: no answer")
            return result

    def _set(self, url: str, data: bytes) -> str:
        self.data[url] = Found(bytes(data), f"t{next(self._tags)}")
        return self.data[url].tag

    def _found(self, url: str) -> Found:
        if url not in self.data:
            raise FileNotFoundError(url)
        return self.data[url]

    def head(self, url):
        found = self._do("head", url, lambda: self._found(url))
        return Info(url, len(found.data), found.tag)

    def exists(self, url):
        return self._do("exists", url, lambda: url in self.data)

    def get(self, url):
        return self._do("get", url, lambda: self._found(url))

    def get_range(self, url, start, end, *, tag=None):
        return self._do("get_range", url, lambda: self._found(url).data[start:end])

    def get_file(self, url, path):
        Path(path).write_bytes(self._do("get_file", url, lambda: self._found(url)).data)

    def put(self, url, data):
        return self._do("put", url, lambda: self._set(url, data))

    def put_if_absent(self, url, data):
        def put():
            if self.is_conditional and url in self.data:
                raise FileExistsError(url)
            return self._set(url, data)

        return self._do("put_if_absent", url, put)

    def put_if_match(self, url, data, tag):
        def put():
            if url not in self.data or self.data[url].tag != tag:
                raise MismatchError(url)
            return self._set(url, data)

        return self._do("put_if_match", url, put)

    def put_file(self, url, path, *, replace=True):
        data = Path(path).read_bytes()
        return self.put(url, data) if replace else self.put_if_absent(url, data)

    def list(self, url, *, recursive=True):
        def infos():
            below = {name: found for name, found in sorted(self.data.items()) if name.startswith(f"{url}/")}
            if recursive:
                return [Info(name, len(found.data), found.tag) for name, found in below.items()]
            heads = dict.fromkeys(name.removeprefix(f"{url}/").partition("/")[:2] for name in below)
            return [Info(f"{url}/{name}{slash}", 0, "") for name, slash in heads]

        return self._do("list", url, infos)

    def delete(self, *urls):
        for url in urls:
            self._do("delete", url, lambda url=url: self.data.pop(url, None))
