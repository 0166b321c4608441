"""Checks that a node has the same package versions as the driver, and sees the same storage.

A check consists of nested functions, which are sent as code, so that it also works on a node without this package.
"""

import secrets
from collections.abc import Callable
from pathlib import Path

from jinx_pipeline.store.mirror import object_store, url_of

Check = Callable[[], str | None]


def node_check(folder: Path, paths: list[str]) -> Check:
    """A function that returns what is wrong with the node on which it runs; None if nothing is.

    Args:
        folder: The directory of the run; a token is written there.
        paths: The paths that a worker reads.
    """
    url = url_of(folder)
    versions, storage = _version_check(), _storage_check(folder, paths) if url is None else _bucket_check(url, paths)
    return lambda: versions() or storage()


def _version_check() -> Check:
    def installed_versions() -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        import jinx._core
        import jinx_pipeline._kernels

        # Import the module that a worker imports.
        import jinx_pipeline.worker.task_runner  # pyright: ignore[reportUnusedImport]

        versions = {
            "the native core of jinx-data": jinx._core.__version__,
            "the native part of jinx-pipeline": jinx_pipeline._kernels.__version__,
        }
        for name in ("jinx-data", "jinx-pipeline"):
            try:
                versions[name] = version(name)
            except PackageNotFoundError:
                versions[name] = "not an installed package"
        return versions

    own_versions = installed_versions()

    def check() -> str | None:
        import socket

        node = f"node {socket.gethostname()}"
        try:
            node_versions = installed_versions()
        except Exception as error:  # noqa: BLE001 - a broken library may raise anything
            problem = f"{type(error).__name__}: {error}"
            return f"{node}: jinx-pipeline cannot be imported there ({problem}); install it on every node"
        for name, version in own_versions.items():
            if node_versions[name] != version:
                problem = f"{name} is {node_versions[name]} there, and {version} on the driver's machine"
                return f"{node}: {problem}; install the same versions on every node"
        return None

    return check


def _bucket_check(url: str, paths: list[str]) -> Check:
    """Like `_storage_check`, for a run directory in an object store; other paths must still exist on every node."""
    token, token_url = secrets.token_hex(16), f"{url}/token"
    object_store().put(token_url, token.encode())

    def check() -> str | None:
        import os
        import socket

        from jinx_pipeline.store.mirror import object_store

        node = f"node {socket.gethostname()}"
        try:
            content = object_store().get(token_url).data
        except OSError as error:
            return f"{node}: {error}; give the store's address and credentials to every node"
        if content != token.encode():
            return f"{node}: {token_url} is another object there; every node must reach the same store"
        missing = [path for path in paths if not os.path.lexists(path)]
        return f"{node}: {missing[0]} does not exist; copy it to the store, or to every node" if missing else None

    return check


def _storage_check(folder: Path, paths: list[str]) -> Check:
    token = secrets.token_hex(16)
    token_file = folder / "token"
    token_file.write_text(token, "ascii")

    def check() -> str | None:
        import os
        import socket
        from pathlib import Path as AnyPath

        node, shared = f"node {socket.gethostname()}", "all nodes must see the same storage there"
        try:
            content = AnyPath(token_file).read_text("ascii")
        except OSError as error:
            return f"{node}: cannot read {token_file} ({error.strerror}); {shared}"
        if content != token:
            return f"{node}: {token_file} is another file than the driver's; {shared}"
        if not os.access(token_file.parent / "parts", os.W_OK):
            return f"{node}: {token_file.parent / 'parts'} cannot be written; {shared}"
        for path in paths:
            if not os.path.lexists(path):
                return f"{node}: {path} does not exist; {shared}"
        return None

    return check
