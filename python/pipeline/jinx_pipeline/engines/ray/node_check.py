"""The check of a node: it has the package in the driver's versions, and sees what the driver sees.

A check is made of functions inside functions, which are sent as code, so that it can also tell of a node on which this
package is missing.
"""

import secrets
from collections.abc import Callable
from pathlib import Path

Check = Callable[[], str | None]


def node_check(folder: Path, paths: list[str]) -> Check:
    """A function that says what is wrong with the node on which it runs; None: nothing.

    Args:
        folder: The directory of the run; a token is put there.
        paths: What a worker reads.
    """
    versions, storage = _version_check(), _storage_check(folder, paths)
    return lambda: versions() or storage()


def _version_check() -> Check:
    def versions() -> dict[str, str]:
        from importlib.metadata import PackageNotFoundError, version

        import jinx._core
        import jinx_pipeline._kernels

        # What a worker imports.
        import jinx_pipeline.worker.task_runner  # pyright: ignore[reportUnusedImport]

        found = {
            "the native core of jinx-data": jinx._core.__version__,
            "the native part of jinx-pipeline": jinx_pipeline._kernels.__version__,
        }
        for name in ("jinx-data", "jinx-pipeline"):
            try:
                found[name] = version(name)
            except PackageNotFoundError:
                found[name] = "not an installed package"
        return found

    here = versions()

    def check() -> str | None:
        import socket

        node = f"node {socket.gethostname()}"
        try:
            there = versions()
        except Exception as error:  # noqa: BLE001 - a broken library raises whatever it likes
            what = f"{type(error).__name__}: {error}"
            return f"{node}: jinx-pipeline cannot be imported there ({what}); install it on every node"
        for name, version in here.items():
            if there[name] != version:
                what = f"{name} is {there[name]} there, and {version} on the driver's machine"
                return f"{node}: {what}; install the same versions on every node"
        return None

    return check


def _storage_check(folder: Path, paths: list[str]) -> Check:
    token = secrets.token_hex(16)
    sign = folder / "token"
    sign.write_text(token, "ascii")

    def check() -> str | None:
        import os
        import socket
        from pathlib import Path as AnyPath

        node, shared = f"node {socket.gethostname()}", "all nodes must see the same storage there"
        try:
            seen = AnyPath(sign).read_text("ascii")
        except OSError as error:
            return f"{node}: cannot read {sign} ({error.strerror}); {shared}"
        if seen != token:
            return f"{node}: {sign} is another file than the driver's; {shared}"
        if not os.access(sign.parent / "parts", os.W_OK):
            return f"{node}: {sign.parent / 'parts'} cannot be written; {shared}"
        for path in paths:
            if not os.path.lexists(path):
                return f"{node}: {path} does not exist; {shared}"
        return None

    return check
