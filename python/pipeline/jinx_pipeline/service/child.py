"""The processes of a service: `trial LIMIT EXAMPLES` tries the recipe on its input, `job DIRECTORY` runs a job."""

import json
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from jinx._sizes import counted, natural_size
from jinx.errors import JinxError
from jinx_pipeline.engines.driver import StoppedError
from jinx_pipeline.recipe.errors import RecipeError
from jinx_pipeline.recipe.read import read_recipe, recipe_of
from jinx_pipeline.report.page import run_page
from jinx_pipeline.report.run_result import RunResult
from jinx_pipeline.run import Run
from jinx_pipeline.runlog.work_dir import publish_text
from jinx_pipeline.service.errors import ServiceError
from jinx_pipeline.service.job_files import JobFiles
from jinx_pipeline.service.plans import refuse_changed
from jinx_pipeline.trial import run_trial, without_places

_EXPECTED = (JinxError, OSError, RecipeError, ImportError, StoppedError, RuntimeError, ValueError, TypeError, KeyError)


def main(arguments: list[str]) -> int:
    """Carry out the arguments; returns the exit code."""
    # Handle SIGTERM like Ctrl-C, so that a job ends its workers and leaves no temporary files.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    match arguments:
        case ["trial", limit, examples]:
            return _trial(int(limit), int(examples))
        case ["job", directory]:
            return _job(Path(directory))
        case _:
            sys.stderr.write("usage: child trial LIMIT EXAMPLES, or child job DIRECTORY\n")
            return 2


def _trial(limit: int, examples: int) -> int:
    try:
        with redirect_stdout(sys.stderr):
            result = without_places(run_trial(recipe_of(json.load(sys.stdin), workers=1), limit, examples))
    except _EXPECTED as error:
        result = {"error": _message(error)}
    print(json.dumps(result, default=str))  # noqa: T201 - prints the answer
    return 0


def _job(directory: Path) -> int:
    publish_text(directory / "pid", str(os.getpid()))
    _log("started")
    try:
        job = JobFiles(directory)
        if not job.work_dir.exists():  # from then on, the run itself refuses other inputs
            refuse_changed(job.order.inputs)
        recipe = read_recipe(directory / "recipe.json")
        run = Run(recipe, progress="plain")
        result = run()
        _log("ended", _result_lines(result))
        publish_text(directory / "report.html", run_page(run.recipe, result))
        publish_text(directory / "result.json", json.dumps(result.to_dict(), default=str))
        end: dict[str, Any] = {"ok": result.ok, "error": None if result.ok else "too many rows failed"}
    except KeyboardInterrupt:
        _log("stopped")
        return 130
    except (*_EXPECTED, ServiceError) as error:
        _log("failed", [_message(error)])
        end = {"ok": False, "error": _message(error)}
    publish_text(directory / "exit.json", json.dumps(end))
    return 0 if end["ok"] else 1


def _log(what: str, lines: Iterable[str] = ()) -> None:
    """Write an event to the log of the job, which is standard error."""
    now = datetime.now(UTC).isoformat(" ", "seconds").removesuffix("+00:00")
    sys.stderr.write("".join(f"{line}\n" for line in [f"{now} UTC {what}", *lines]))
    sys.stderr.flush()


def _result_lines(result: RunResult) -> Iterator[str]:
    """The results of a run, line by line."""
    for totals in result.operators:
        failed = f", {totals.bad_rows:,} failed" if totals.bad_rows else ""
        yield f"{totals.operator}: {totals.rows_in:,} in, {totals.rows_out:,} out{failed}"
    if result.rows_unreadable:
        yield f"{counted(result.rows_unreadable, 'row')} of the input could not be read"
    for output in result.outputs:
        yield f"{output.path}: {output.rows:,} of {counted(result.rows_in, 'sample')}, {natural_size(output.bytes)}"


def _message(error: BaseException) -> str:
    from jinx._cli.command_line import one_line

    return str(error) if isinstance(error, RecipeError) else one_line(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
