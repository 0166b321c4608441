"""The page of a run as Markdown: each target beside what was reached."""

from typing import Any

from bench.about import about_run

_ABOUT = """\
{clients} clients, each over one connection, ask for an operator, for the list of jobs and, while there is one, for
the running job, one request after the other. They run in the process of the server, so that they take a part of
its time. The job has a worker for each core, and cleans and filters texts. The first event is the first line that a
client of `/v1/jobs/ID/events` receives, counted from the POST that starts the job."""
_RATE, _P99_MS, _FIRST_EVENT_MS = 500, 50, 1000


def page(result: dict[str, Any]) -> str:
    """The text of the page."""
    reached = result["reached"]
    idle, busy, first = reached["idle"], reached["with a job"], reached["first event ms"]
    rates, p99, p50 = ((idle[name], busy[name]) for name in ("requests/s", "p99 ms", "p50 ms"))
    rows = [
        ("requests a second", f">= {_RATE}", f"{rates[0]:,.0f}", f"{rates[1]:,.0f}", rates[1] >= _RATE),
        ("99th percentile", f"<= {_P99_MS} ms", f"{p99[0]:.1f} ms", f"{p99[1]:.1f} ms", p99[1] <= _P99_MS),
        ("median", "", f"{p50[0]:.1f} ms", f"{p50[1]:.1f} ms", None),
        ("first event of a job", "<= 1 s", "", f"{first:,.0f} ms", first <= _FIRST_EVENT_MS),
    ]
    lines = [
        "# The service",
        "",
        about_run(result),
        "",
        _ABOUT.format(clients=result["clients"]),
        "",
        "| what | goal | idle | while a job uses all cores | met |",
        "|---|--:|--:|--:|---|",
    ]
    met = {True: "yes", False: "no", None: ""}
    lines += [f"| {what} | {goal} | {alone} | {shared} | {met[is_met]} |" for what, goal, alone, shared, is_met in rows]
    if not reached["the job ran throughout"]:
        lines += ["", "The job ended before the requests did: these figures are not those of a busy machine."]
    return "\n".join(lines) + "\n"
