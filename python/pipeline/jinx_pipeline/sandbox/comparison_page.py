"""A comparison as a JINX table, and as a page with pictures."""

import os
from collections.abc import Sequence
from dataclasses import asdict
from html import escape
from typing import Final

import jinx
from jinx_pipeline.report.page import document, table
from jinx_pipeline.sandbox.comparison import Comparison, Row

_WIDTH, _NAME, _LINE = 720, 240, 30
_STYLE: Final = "stroke:currentColor;stroke-width:2"


def refuse_other_table(path: str | os.PathLike[str]) -> None:
    """Refuse to replace a file that is not an earlier table of a comparison.

    Raises:
        FileExistsError: Something else is there.
    """
    if not os.path.lexists(path):
        return
    try:
        is_ours = "comparison" in jinx.open(path).info().meta.get("jinx_pipeline", {})
    except (jinx.JinxError, OSError, ValueError):
        is_ours = False
    if not is_ours:
        raise FileExistsError(f"{os.fspath(path)} exists, and is not the table of a comparison; choose another name")


def write_table(comparison: Comparison, path: str | os.PathLike[str]) -> None:
    """Write a sample for each variant and budget; the verdict is in the metadata."""
    refuse_other_table(path)
    meta = {"jinx_pipeline": {"comparison": asdict(comparison.verdict)}}
    with jinx.Writer(path, meta=meta, overwrite=True) as writer:
        for row in comparison.rows:
            writer.write(asdict(row))


def comparison_page(title: str, comparison: Comparison) -> str:
    """The page: the verdict, a picture for each budget, and all figures."""
    budgets = sorted({row.budget for row in comparison.rows}, reverse=True)
    parts = [f"<h1>{escape(title)}</h1>", f"<p><b>{escape(comparison.verdict.text)}</b></p>"]
    for budget in budgets:
        rows = [row for row in comparison.rows if row.budget == budget]
        parts += [f"<h2>Budget {budget:,}</h2>", f'<div class="card">{_picture(rows)}</div>']
    parts.append('<p class="soft">Dots are means, lines their 95 % confidence intervals over the seeds.</p>')
    head = ["", "budget", "samples", "mean", "low", "high", "seconds", "chance of the difference"]
    chances = comparison.verdict.chances
    lines = [
        [
            escape(row.variant),
            f"{row.budget:,}",
            f"{row.samples:,}",
            *(escape(row.error or "") if value is None else f"{value:.4g}" for value in (row.mean, row.low, row.high)),
            f"{row.seconds:,.1f}",
            f"{chances[row.variant]:.2g}" if row.budget == budgets[0] and row.variant in chances else "",
        ]
        for row in comparison.rows
    ]
    return document(title, [*parts, "<h2>Figures</h2>", table(head, lines)])


def _picture(rows: Sequence[Row]) -> str:
    """Means and intervals as a picture."""
    done = [(row, row.mean, row.low, row.high) for row in rows if None not in {row.mean, row.low, row.high}]
    least = min((low for _, _, low, _ in done if low is not None), default=0.0)
    largest = max((high for _, _, _, high in done if high is not None), default=1.0)
    span = (largest - least) or 1.0

    def x(value: float) -> float:
        return _NAME + 20 + (value - least) / span * (_WIDTH - _NAME - 120)

    lines: list[str] = []
    for number, (row, mean, low, high) in enumerate(done):
        y = _LINE * number + _LINE / 2
        lines.append(f'<text x="0" y="{y + 5:.0f}">{escape(row.variant[:36])}</text>')
        lines.append(f'<line x1="{x(low or 0):.1f}" x2="{x(high or 0):.1f}" y1="{y}" y2="{y}" style="{_STYLE}"/>')
        lines.append(f'<circle cx="{x(mean or 0):.1f}" cy="{y}" r="5" fill="currentColor"/>')
        lines.append(f'<text x="{_WIDTH - 80}" y="{y + 5:.0f}">{mean:.4g}</text>')
    height = _LINE * max(1, len(done))
    return f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="Means with intervals">{"".join(lines)}</svg>'
