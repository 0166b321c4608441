"""Sends what a task has written to an output's URL."""

import json
import shutil
from pathlib import Path

import jinx
from jinx import _core
from jinx_pipeline.recipe.export import Export
from jinx_pipeline.runlog.work_dir import published
from jinx_pipeline.store.mirror import object_store, part_files, patiently


def upload_shards(folder: Path, url: str, number: int, part: Path) -> None:
    """Write the shards of a directory to the directory of an output, and their manifest as a part.

    Args:
        folder: The directory on this node; it is removed.
        url: The directory of the output.
        number: The number in the names of the shards.
        part: The path of the part.
    """
    manifest = json.loads((folder / "jinx.json").read_bytes())
    for shard in manifest["shards"]:
        files = part_files(folder / shard["name"])
        digest = _core.hash_bytes("".join(_core.hash_file(str(file)) for file in files).encode())
        stem = f"shard-{number:05}-{digest[:16]}"
        shard["name"] = f"{stem}.jinx"
        for file in files:
            target = f"{url}/{stem}{file.suffix}"
            patiently(lambda target=target, file=file: object_store().put_file(target, file))
    with published(part) as file:
        file.write(json.dumps(manifest, ensure_ascii=False).encode())
    shutil.rmtree(folder, ignore_errors=True)


def upload_output(folder: Path, export: Export) -> None:
    """Write the only entry of a directory as an output, main file last.

    Args:
        folder: The directory on this node; it is removed.
        export: The kind and URL of the output.

    Raises:
        FileExistsError: Another output is there, and may not be replaced.
    """
    (entry,) = (path for path in folder.iterdir() if path.suffix != ".binx")
    if export.kind == "jinx":
        _upload_jinx(entry, export)
    else:
        files = part_files(entry) if entry.is_dir() else [entry]
        for file in sorted(files, key=lambda file: file.name == "index.json"):
            url = f"{export.path}/{file.relative_to(entry)}" if entry.is_dir() else export.path
            patiently(lambda url=url, file=file: object_store().put_file(url, file))
    shutil.rmtree(folder, ignore_errors=True)


def _upload_jinx(path: Path, export: Export) -> None:
    try:
        patiently(lambda: _core.upload(path, export.path, export.overwrite, {"storage": None}))
    except FileExistsError:
        # An earlier attempt of this task may have written the file without committing it.
        if jinx.open(export.path).info().ids != jinx.open(path).info().ids:
            raise
