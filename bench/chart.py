"""The chart of the home page: `python -m bench.chart docs/benchmarks/results.json docs/benchmarks/home.svg`.

An SVG of its own, without matplotlib, so that a test can compare the committed file with the results.
"""

import sys
from html import escape
from pathlib import Path

from bench.cases import CASES
from bench.results import Results
from bench.targets import best_peer

# Case: (our contestant, its label, what is done).
PANELS = {
    "random_messages": ("jinx", "JINX", "Random access, conversations only"),
    "shuffle_all": ("jinx", "JINX", "Shuffled, whole samples with images"),
    "loader": ("jinx-loader", "jinx.torch.Loader", "PyTorch training loop, batches of 64"),
}
LABELS = {
    "jinx": "JINX in DataLoader",
    "datasets": "HF datasets",
    "streaming": "MDS, Streaming",
    "mldf-mds-ram": "MDS, MLDataForge",
    "lance": "Lance",
    "array_record": "ArrayRecord",
    "webdataset": "WebDataset",
    "parquet": "Parquet",
    "litdata": "LitData",
}
# The formats of the feature table; each panel also shows whoever else is fastest.
PEERS = ("datasets", "streaming", "array_record", "lance", "webdataset", "parquet")
ROW, LEFT, RIGHT, WIDTH = 24, 150, 120, 680

STYLE = """
    svg { --ink: #24292f; --soft: #626c77; --ours: #c8402f; --peer: #a9b8c4; }
    @media (prefers-color-scheme: dark) { svg { --ink: #e3e8ee; --soft: #9aa5b1; --ours: #ff8a75; --peer: #53616e; } }
    text { font: 14px system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif; fill: var(--ink); }
    .title { font-weight: 600; font-size: 15px; }
    .soft { fill: var(--soft); font-size: 13px; }
    .label { text-anchor: end; }
    .ours { fill: var(--ours); }
    .peer { fill: var(--peer); }
    text.ours { font-weight: 600; }"""


def chart(results: Results) -> str:
    """The SVG."""
    lines: list[str] = []
    y = 0
    for case, (ours, label, title) in PANELS.items():
        y += 24
        basis = "CPU" if CASES[case].basis == "cpu" else "wall"
        lines.append(
            f'  <text x="0" y="{y}"><tspan class="title">{title}</tspan>'
            f'<tspan class="soft" dx="8">samples per second of {basis} time</tspan></text>'
        )
        y = _bars(lines, _rows(results, case, ours, label), y + 10) + 14
    for sentence in _source(results):
        lines.append(f'  <text class="soft" x="0" y="{y + 10}">{escape(sentence)}</text>')
        y += 19
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}" role="img">\n'
        f"  <title>Samples per second, JINX and other formats</title>\n  <style>{STYLE}\n  </style>\n"
    )
    return head + "\n".join(lines) + "\n</svg>\n"


def _rows(results: Results, case: str, ours: str, label: str) -> list[tuple[str, float, float | None]]:
    """(label, samples per second, how many times as fast ours is or None for ours), fastest first."""
    basis = CASES[case].basis
    fastest = best_peer(results, case, basis) or ours
    others = [peer for peer in dict.fromkeys(("jinx", *PEERS, fastest)) if peer != ours]
    rows: list[tuple[str, float, float | None]] = []
    for peer in [ours, *others]:
        seconds = results.seconds(case, peer, basis)
        if seconds is not None:
            name = label if peer == ours else LABELS.get(peer, peer)
            rows.append((name, 1 / seconds, None if peer == ours else results.ratio(case, ours, peer, basis)))
    return sorted(rows, key=lambda row: -row[1])


def _bars(lines: list[str], rows: list[tuple[str, float, float | None]], y: int) -> int:
    full = rows[0][1]
    for name, speed, ratio in rows:
        kind = "ours" if name.startswith(("JINX", "jinx")) else "peer"
        length = max(speed / full * (WIDTH - LEFT - RIGHT), 1)
        times = "" if ratio is None else f'<tspan class="soft" dx="6">{ratio:.3g}x</tspan>'
        emphasis = ' class="ours"' if ratio is None else ""
        lines += [
            f'  <text class="label" x="{LEFT - 8}" y="{y + 16}">{escape(name)}</text>',
            f'  <rect class="{kind}" x="{LEFT}" y="{y + 4}" width="{length:.1f}" height="{ROW - 8}" rx="2"/>',
            f'  <text{emphasis} x="{LEFT + length + 6:.1f}" y="{y + 16}">{_short(speed)}{times}</text>',
        ]
        y += ROW
    return y


def _short(speed: float) -> str:
    return f"{speed / 1000:.3g}k" if speed >= 1000 else f"{speed:.3g}"  # noqa: PLR2004 - a thousand


def _source(results: Results) -> list[str]:
    """Where the figures come from."""
    machine, data = results.about["machine"], results.about["data"]["jpeg"]
    image = f"{data['image_bytes'] / 1000:.0f} kB"
    day = max(run["at"] for run in results.about["runs"])[:10]
    return [
        "4.8x: JINX is 4.8 times as fast. In the training loop the others use DataLoader with 2 workers.",
        f"{data['samples']:,} samples, a conversation and a JPEG of {image} each; warm page cache.",
        f"{machine['cpu']}, {machine['cores']} cores, {day}. Source: docs/benchmarks/results.json",
    ]


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(chart(Results.load(Path(sys.argv[1]))), "utf-8")
