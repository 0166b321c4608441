"""The report: one self-contained HTML file without scripts."""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import numpy as np

from jinx._sizes import natural_size
from jinx._viewer.query import expression_name
from jinx_pipeline.operators.api.batch import STATS
from jinx_pipeline.recipe.model import Recipe
from jinx_pipeline.report.analysis import QUANTILES, Analysis, Statistic
from jinx_pipeline.report.graph_picture import picture_of
from jinx_pipeline.report.graph_svg import STYLE as GRAPH_STYLE
from jinx_pipeline.report.graph_svg import drawing
from jinx_pipeline.report.insight import Change, Insight
from jinx_pipeline.report.tags import bars, cloud
from jinx_pipeline.worker.row_examples import shown

if TYPE_CHECKING:
    import jinx
    from jinx_pipeline.report.run_result import RunResult

_WIDTH, _HEIGHT = 480, 150
_THUMBNAIL = 160
_WORDS = ("operator", "statistic")
# After these characters, a name or path may continue on the next line.
_BREAKS = re.compile(r"([_/])(?=.)")
_MAX_BAD = 100
_MAX_CHANGES = 30
# With a larger p-value, a change may be due to chance.
_CHANCE = 0.05
_KEPT = "Samples that each filter keeps, compared with those that reach it"
_CHANGED = (
    "Measured on {samples:,} samples of the input. For an operator that drops samples, those that it keeps are "
    "compared with those that it drops; for one that changes or makes samples, those after it with those before it"
)
_INSIGHT = (
    "the effect is the difference of their means in standard deviations (Cohen's d), the distance that of their "
    "distributions (Kolmogorov-Smirnov); the probabilities of chance (Welch's t-test, Kolmogorov-Smirnov test) are "
    "corrected for all comparisons (Holm)."
)
_LEGEND = (
    "Darker bars lie within the thresholds of the recipe. One percent of the values, at the ends, is not drawn. Where "
    "jinx view --report shows this page, a bar opens its samples."
)

_LEFT_OUT = (
    "A later filter has statistics of the same name, or they come after an operator that makes new samples or looks at "
    "all samples."
)

_STYLE = """
:root { --ink: #1d2433; --soft: #5b6579; --line: #dfe4ec; --back: #f6f7f9; --card: #fff; --bar: #9db4d8;
  --kept: #3b6db5; --bad: #b3392f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ef; --soft: #9aa5b8; --line: #333b49; --back: #161a21;
  --card: #1e242d; --bar: #4a5a75; --kept: #7aa5e6; --bad: #e58077; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2rem 1.5rem 4rem; max-width: 80rem; background: var(--back); color: var(--ink);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { margin: 0; font-size: 1.6rem; overflow-wrap: anywhere; } h2 { margin: 2.5rem 0 0.8rem; font-size: 1.15rem; }
h3 { margin: 0; font-size: 1rem; } p { margin: 0.2rem 0; } .soft { color: var(--soft); font-size: 0.88rem; }
.facts { display: flex; flex-wrap: wrap; gap: 0.6rem clamp(1.2rem, 4vw, 2.2rem); margin-top: 1rem; }
.facts b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 24rem), 1fr)); gap: 1rem;
  margin-top: 0.6rem; }
.card, .scroll { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 1rem; }
.scroll { overflow-x: auto; padding: 0.3rem 0.8rem 0.3rem 0; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; font-size: 0.9rem; }
th, td { padding: 0.35rem 0.55rem; text-align: right; white-space: nowrap; border-bottom: 1px solid var(--line); }
th:first-child, td:first-child, .text, .word { text-align: left; }
th:first-child, td:first-child { position: sticky; left: 0; padding-left: 1rem; background: var(--card); }
tr:last-child td { border-bottom: 0; }
/* The first column stays, so that it must leave room for others. */
@media (max-width: 40rem) { th:first-child, td:first-child { max-width: 11rem; white-space: normal;
  overflow-wrap: break-word; } }
td.text { white-space: normal; overflow-wrap: anywhere; min-width: 16rem; } th { color: var(--soft); font-weight: 600; }
svg { display: block; width: 100%; height: auto; margin-top: 0.6rem; } svg text { fill: var(--soft); font-size: 17px; }
.ends { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 9rem), 1fr)); gap: 0.6rem;
  margin: 0.5rem 0 1.2rem; }
.end { background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 0.5rem 0.6rem;
  font-size: 0.82rem; overflow-wrap: anywhere; } .end b { font-size: 0.95rem; } .end .soft { float: right; }
svg a:hover { opacity: 0.7; }
.end img { display: block; width: 100%; height: 6rem; margin-top: 0.4rem; object-fit: contain; border-radius: 4px;
  background: var(--back); }
.end p { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 4; overflow: hidden;
  margin-top: 0.4rem; }
h2 + .soft { margin-bottom: 0.7rem; }
.picture { overflow-x: auto; }
/* A shadow at the right edge of what goes on there; at its end, the first layer covers it. */
.scroll, .picture { background: linear-gradient(90deg, transparent, var(--card) 70%) right / 2rem 100% no-repeat local,
  linear-gradient(90deg, transparent, var(--line)) right / 1rem 100% no-repeat scroll, var(--card); }
.bad { color: var(--bad); } .heat td + td, .heat th + th { text-align: center; min-width: 4.5rem; }
"""


def page(dataset: "jinx.Dataset", recipe: Recipe, result: "RunResult", figures: Analysis) -> str:
    """The report on a measured dataset.

    Args:
        dataset: The dataset with statistics.
        recipe: The recipe, with its filters and thresholds.
        result: The result of the run that measured the dataset.
        figures: The analysis of the statistics.
    """
    title = ", ".join(source.path for source in recipe.sources)
    facts = [
        (f"{figures.samples:,}", "samples"),
        (str(len(figures.statistics)), "statistics"),
        (f"{len(result.bad_rows):,}", "rows failed"),
        (f"{result.seconds:.1f} s", "this run"),
    ]
    parts = [
        f"<h1>{escape(title)}</h1>",
        _facts(facts),
        "<h2>Statistics</h2>",
        _overall(figures.statistics),
        _left_out(figures.left_out),
        f'<h2>Distributions</h2><p class="soft">{_LEGEND}</p><div class="grid">',
        *(_histogram(statistic) for statistic in figures.statistics),
        "</div>",
        _heat(figures),
        _insight("What the filters change", f"{_KEPT}: {_INSIGHT}", figures.changes),
        _tags(figures.tags),
        "<h2>Extremes</h2>",
        *(_extremes(dataset, recipe, statistic) for statistic in figures.statistics),
        "<h2>Operators</h2>",
        _operators(result),
        _quarantine(result),
    ]
    return document(f"{title}: analysis", parts)


def _left_out(filters: Sequence[str]) -> str:
    return f'<p class="soft">Not shown: {escape(", ".join(filters))}. {_LEFT_OUT}</p>' if filters else ""


def run_page(recipe: Recipe, result: "RunResult", insight: Insight | None = None) -> str:
    """The report on a run: its graph with rows and seconds, its outputs and operators, and the rows that failed.

    Args:
        recipe: The recipe.
        result: The result of its run.
        insight: What its operators do to samples of the input.
    """
    title = ", ".join(export.path for export in recipe.exports)
    facts = [
        (f"{result.rows_in:,}", "samples read"),
        *([(f"{result.rows_unreadable:,}", "rows not readable")] if result.rows_unreadable else []),
        (f"{result.rows_out:,}", "samples written"),
        (f"{len(result.bad_rows):,}", "rows failed"),
        (f"{result.seconds:.1f} s", "this run"),
    ]
    outputs = [[escape(output.path), f"{output.rows:,}", natural_size(output.bytes)] for output in result.outputs]
    parts = [
        f"<h1>{escape(title)}</h1>",
        _facts(facts),
        f'<h2>Graph</h2><div class="card picture">{drawing(picture_of(recipe, result))}</div>',
        f"<h2>Outputs</h2>{table(['', 'samples', 'size'], outputs)}",
        "<h2>Operators</h2>",
        _operators(result),
        *([] if insight is None else _of_insight(insight)),
        _quarantine(result),
    ]
    return document(title, parts)


def _of_insight(insight: Insight) -> list[str]:
    title, about = "What the operators change", _CHANGED.format(samples=insight.samples)
    found = _insight(title, f"{about}: {_INSIGHT}", insight.changes)
    nothing = f'<h2>{title}</h2><p class="soft">{about}: no change is more than chance.</p>'
    return [found or nothing, _tags(insight.tags)]


def document(title: str, parts: Sequence[str]) -> str:
    """A page with a title and parts in HTML."""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="generator" content="made by jinx-pipeline">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}{GRAPH_STYLE}</style></head>\n<body>"
        + "\n".join(parts)
        + "</body></html>\n"
    )


def _facts(facts: Sequence[tuple[str, str]]) -> str:
    return (
        '<div class="facts">'
        + "".join(f'<div><b>{a}</b><span class="soft">{b}</span></div>' for a, b in facts)
        + "</div>"
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]], kind: str = "") -> str:
    """A table, whose cells are HTML; columns of words are aligned at their beginning, numbers at their end.

    The first column is of text, which is broken where names and paths have their parts.
    """
    marks = [{"error": ' class="text"'}.get(name, ' class="word"' if name in _WORDS else "") for name in head]
    top = "".join(f"<th{mark}>{cell}</th>" for cell, mark in zip(head, marks, strict=True))
    body = "".join(
        "<tr>"
        + "".join(
            f"<td{mark}>{cell}</td>"
            for cell, mark in zip((_BREAKS.sub(r"\1<wbr>", row[0]), *row[1:]), marks, strict=True)
        )
        + "</tr>"
        for row in rows
    )
    return f'<div class="scroll"><table class="{kind}"><tr>{top}</tr>{body}</table></div>'


def _overall(statistics: list[Statistic]) -> str:
    head = [
        "",
        "values",
        "missing",
        "kept",
        "mean",
        "std",
        "min",
        *(f"{quantile:.0%}" for quantile in QUANTILES),
        "max",
    ]
    rows = [
        [
            escape(statistic.name),
            f"{statistic.count:,}",
            f"{statistic.missing:,}",
            f"{statistic.kept:.1%}",
            *map(
                number,
                (statistic.mean, statistic.deviation, statistic.low, *statistic.quantiles, statistic.high),
            ),
        ]
        for statistic in statistics
    ]
    return table(head, rows)


def _histogram(statistic: Statistic) -> str:
    peak = max(statistic.counts) or 1
    step = _WIDTH / len(statistic.counts)
    low, high = statistic.bounds
    bars: list[str] = []
    for index, count in enumerate(statistic.counts):
        middle = (statistic.edges[index] + statistic.edges[index + 1]) / 2
        is_kept = (low is None or middle >= low) and (high is None or middle <= high)
        edges = statistic.edges[index : index + 2]
        height = (_HEIGHT - 24) * count / peak
        color = "var(--kept)" if is_kept else "var(--bar)"
        bar = (
            f'<rect x="{index * step:.1f}" y="{_HEIGHT - 22 - height:.1f}" width="{step - 1:.1f}" '
            f'height="{height:.1f}" fill="{color}"><title>{number(edges[0])} to {number(edges[1])}: {count:,}</title>'
            "</rect>"
        )
        is_last = index == len(statistic.counts) - 1
        bars.append(bar if statistic.is_list or not count else _link(_within(statistic.name, edges, is_last), bar))
    ends = (
        f'<text x="0" y="{_HEIGHT - 4}">{number(statistic.edges[0])}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 4}" text-anchor="end">{number(statistic.edges[-1])}</text>'
    )
    limits = _limits(low, high)
    return (
        f'<div class="card"><h3>{escape(statistic.name)}</h3><p class="soft">{escape(statistic.operator)}: {limits}, '
        f'keeps {statistic.kept:.1%}</p><svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="group" aria-label="Histogram of '
        f'{escape(statistic.name)}">{"".join(bars)}{ends}</svg></div>'
    )


def _within(name: str, edges: Sequence[float], is_last: bool) -> str:  # noqa: FBT001 - one caller
    """The expression that selects the samples in a bar."""
    path = expression_name([STATS, name])
    return f"{path} >= {edges[0]!r} and {path} {'<=' if is_last else '<'} {edges[1]!r}"


def _link(where: str, content: str) -> str:
    """A link to samples, which works where `jinx view --report` shows the page."""
    return f'<a href="?{urlencode({"where": where})}">{content}</a>'


def _limits(low: float | None, high: float | None) -> str:
    if low is None:
        return "no limit" if high is None else f"at most {number(high)}"
    return f"at least {number(low)}" if high is None else f"{number(low)} to {number(high)}"


def _heat(figures: Analysis) -> str:
    if len(figures.names) < 2:  # noqa: PLR2004 - there is nothing to compare
        return ""
    rows: list[list[str]] = []
    for name, line in zip(figures.names, figures.correlation, strict=True):
        cells = [
            '<span class="soft">-</span>'
            if np.isnan(value)
            else f'<span style="display:block;background:rgb({"59 109 181" if value > 0 else "179 57 47"} / '
            f'{abs(value) * 0.6:.2f})">{value:.2f}</span>'
            for value in line.tolist()
        ]
        rows.append([escape(name), *cells])
    return "<h2>Correlation</h2>" + table(["", *map(escape, figures.names)], rows, "heat")


def _insight(title: str, about: str, changes: Sequence[Change]) -> str:
    """The effects of operators on the statistics, except effects that may be due to chance."""
    rows = [
        [
            escape(change.operator),
            escape(change.statistic),
            f"{number(change.mean_before)} → {number(change.mean_after)}",
            f"{change.effect:+.2f}",
            f"{change.distance:.2f}",
            _probability(change.p_mean),
            _probability(change.p_shape),
        ]
        for change in changes
        if min(change.p_mean, change.p_shape) <= _CHANCE
    ][:_MAX_CHANGES]
    if not rows:
        return ""
    head = ["operator", "statistic", "mean", "effect", "distance", "p of mean", "p of shape"]
    return f'<h2>{title}</h2><p class="soft">{about}</p>{table(head, rows)}'


def _probability(value: float) -> str:
    return "&lt; 0.001" if value < 0.001 else f"{value:.3f}"  # noqa: PLR2004 - at most three digits


def _tags(counts: Mapping[str, Sequence[tuple[str, int]]]) -> str:
    cards = [
        f'<div class="card"><h3>{escape(name)}</h3>{bars(tags)}{cloud(tags)}</div>'
        for name, tags in counts.items()
        if tags
    ]
    return f'<h2>Values</h2><div class="grid">{"".join(cards)}</div>' if cards else ""


def _extremes(dataset: "jinx.Dataset", recipe: Recipe, statistic: Statistic) -> str:
    blocks: list[str] = []
    for title, entries in (("lowest", statistic.lowest), ("highest", statistic.highest)):
        cells = "".join(
            f'<div class="end"><b>{number(value)}</b><a class="soft" href="?sample={row}">row {row}</a>'
            f"{_preview(dataset, recipe, row)}</div>"
            for row, value in entries
        )
        blocks.append(f'<p class="soft">{escape(statistic.name)}, {title}</p><div class="ends">{cells}</div>')
    return "".join(blocks)


def _preview(dataset: "jinx.Dataset", recipe: Recipe, row: int) -> str:
    """A thumbnail of the sample's first image, and the beginning of its text."""
    from jinx_pipeline.operators.api.batch import Batch

    batch = Batch(dataset, [row], recipe.roles)
    names = set(batch.column_names)
    html = ""
    if recipe.roles.column("images") in names:
        html += _thumbnail(batch)
    if recipe.roles.column("text") in names:
        text = shown(batch.text[0].as_py())[:160]
        html += f"<p>{escape(text)}</p>"
    return html


def _thumbnail(batch: Any) -> str:
    try:
        from PIL import Image

        data = next(iter(batch.media("images")[0])).bytes
        with Image.open(BytesIO(data)) as image:
            small = image.convert("RGB")
        small.thumbnail((_THUMBNAIL, _THUMBNAIL))
        out = BytesIO()
        small.save(out, "JPEG", quality=80)
    except Exception:  # noqa: BLE001 - a bad image must not prevent the report
        return ""
    return f'<img alt="" src="data:image/jpeg;base64,{base64.b64encode(out.getvalue()).decode()}">'


def _operators(result: "RunResult") -> str:
    rows = [
        [
            escape(totals.operator),
            f"{totals.rows_in:,}",
            f"{totals.rows_out:,}",
            f"{totals.bad_rows:,}",
            f"{totals.seconds:.2f}",
            f"{totals.rows_in / totals.cpu_seconds:,.0f}" if totals.cpu_seconds > 0 else "",
            natural_size(totals.peak_bytes) if totals.peak_bytes else "",
            escape(", ".join(totals.details)),
        ]
        for totals in result.operators
    ]
    return table(["", "rows in", "rows out", "failed", "seconds", "rows per CPU second", "memory", ""], rows)


def _quarantine(result: "RunResult") -> str:
    if not result.bad_rows:
        return ""
    rows = [
        [escape(bad.source), f"{bad.row:,}", escape(bad.operator or "worker"), escape(bad.error[:300])]
        for bad in result.bad_rows[:_MAX_BAD]
    ]
    omitted = len(result.bad_rows) - len(rows)
    note = f'<p class="soft">and {omitted:,} more, in quarantine.jsonl</p>' if omitted else ""
    return f'<h2 class="bad">Rows that failed</h2>{table(["source", "row", "operator", "error"], rows)}{note}'


def number(value: float) -> str:
    """A number as a short string."""
    if value == int(value) and abs(value) < 1e15:  # noqa: PLR2004 - a float is exact up to this size
        return f"{int(value):,}"
    return f"{value:,.1f}" if abs(value) >= 100 else f"{value:.3g}"  # noqa: PLR2004 - four digits are enough
