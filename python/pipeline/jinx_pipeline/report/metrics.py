"""The metrics of a run in the Prometheus text format, for the text file collector of its node exporter."""

from collections.abc import Iterable, Mapping
from typing import Final

from jinx_pipeline.report.run_result import RunResult

_PREFIX: Final = "jinx_pipeline"
_OPERATOR_METRICS: Final = (
    ("rows_in", "operator_input_rows_total", "counter", "Rows that an operator has read."),
    ("rows_out", "operator_output_rows_total", "counter", "Rows that an operator has passed on."),
    ("bad_rows", "operator_failed_rows_total", "counter", "Rows on which an operator has failed."),
    ("seconds", "operator_seconds_total", "counter", "Wall time of an operator, over all workers."),
    ("cpu_seconds", "operator_cpu_seconds_total", "counter", "CPU time of an operator, over all workers."),
    ("peak_bytes", "operator_peak_bytes", "gauge", "The largest memory of a worker right after an operator ran."),
)

_Sample = tuple[Mapping[str, str], float]


def metrics_text(result: RunResult) -> str:
    """The metrics of a finished run."""
    lines = [
        *metric("rows_read_total", "counter", "Rows of the sources.", [({}, result.rows_in)]),
        *metric(
            "rows_unreadable_total",
            "counter",
            "Rows of the sources that could not be read.",
            [({}, result.rows_unreadable)],
        ),
        *metric("rows_failed_total", "counter", "Rows that are in no output.", [({}, len(result.bad_rows))]),
        *metric("run_seconds", "gauge", "The duration of the last run.", [({}, result.seconds)]),
        *metric("ok", "gauge", "Whether no more rows failed than the recipe allows.", [({}, result.ok)]),
    ]
    for name, text, values in (
        ("output_rows", "Samples of an output.", [({"path": o.path}, o.rows) for o in result.outputs]),
        ("output_bytes", "Bytes of an output.", [({"path": o.path}, o.bytes) for o in result.outputs]),
    ):
        lines += metric(name, "gauge", text, values)
    for field, name, kind, text in _OPERATOR_METRICS:
        samples = [
            ({"operator": totals.operator, "place": str(totals.place)}, float(getattr(totals, field)))
            for totals in result.operators
        ]
        lines += metric(name, kind, text, samples)
    counts = [
        ({"operator": totals.operator, "place": str(totals.place), "what": what}, float(count))
        for totals in result.operators
        for what, count in totals.counts.items()
    ]
    if counts:
        lines += metric("operator_counts_total", "counter", "What an operator has counted, such as requests.", counts)
    return "\n".join(lines) + "\n"


def metric(name: str, kind: str, text: str, samples: Iterable[_Sample]) -> list[str]:
    """The lines of one metric.

    Args:
        name: Its name, without the prefix.
        kind: `"counter"` or `"gauge"`.
        text: What it means.
        samples: The labels and the value of each sample.
    """
    full = f"{_PREFIX}_{name}"
    lines = [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]
    return lines + [f"{full}{_labels(labels)} {float(value):.12g}" for labels, value in samples]


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items()) + "}"


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
