"""Jobs: a queue that survives its server, and jobs that end without a trace when they are cancelled."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

import jinx
from service_client import LONG, TOKEN, Client, made_roots, recipe

pytest.importorskip("starlette", reason="the extra `service`")
# Jobs wait for their processes, which a busy machine starts slowly.
pytestmark = pytest.mark.timeout(300)

SLOW = """
import time


def process_single(sample):
    time.sleep(0.5)
    return sample
"""


@pytest.fixture
def slow(serve, tmp_path):
    """A service and a recipe that takes minutes."""

    def start(**limits):
        client = serve(allow=("python_file_mapper",), **limits)
        (tmp_path / "data" / "slow.py").write_text(SLOW)
        return client, {"python_file_mapper": {"file_path": "data/slow.py"}}

    return start


def processes_of(tmp_path: Path) -> list[psutil.Process]:
    """Processes of jobs below a directory, and their workers."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(str(tmp_path / "state") in word for word in process.cmdline()):
                found += [process, *process.children(recursive=True)]
    return found


def wait_for_progress(client: Client, job: str) -> None:
    limit = time.monotonic() + 120
    pid = client.place.jobs.get(job).directory / "pid"
    while not pid.exists() or not (progress := client.get(f"/jobs/{job}")["progress"]) or not progress["rows"]:
        assert time.monotonic() < limit
        time.sleep(0.05)


def test_the_same_key_starts_one_job(serve):
    client = serve()
    plan = client.plan(recipe("a.jinx", LONG))
    first = client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="monday")[1]["id"]
    assert client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="monday")[1]["id"] == first
    other = client.plan(recipe("b.jinx", LONG))
    assert client.ask("POST", "/jobs", {"plan": other}, Idempotency_Key="monday")[0] == 409
    assert client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="x" * 300)[0] == 422
    assert client.ended(first)["state"] == "succeeded"
    assert client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="monday")[1]["state"] == "succeeded"
    assert client.get("/jobs")["total"] == 1


@pytest.mark.parametrize("source", ["in.jinx", "in.jsonl", "in.parquet", "view.jinx"])
def test_a_job_runs_on_the_input_of_its_plan_or_not_at_all(serve, tmp_path, source):
    client, data = serve(), tmp_path / "data"

    def write(samples):
        if source == "view.jinx":
            jinx.open(data / "in.jinx")[:samples].save(data / source, overwrite=True)
        else:
            jinx.convert(({"text": f"{i} " * 40} for i in range(samples)), data / source, overwrite=True)

    write(20)
    plan = client.plan(recipe("a.jinx", LONG, source=f"data/{source}"))
    first = client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="one")[1]["id"]
    assert client.ended(first)["state"] == "succeeded"
    write(19)
    status, answer = client.ask("POST", "/jobs", {"plan": plan})
    assert (status, answer["code"]) == (409, "input_changed")
    assert f"data/{source} has changed" in answer["detail"]
    assert str(tmp_path) not in answer["detail"]
    # The job of before is still there.
    assert client.ask("POST", "/jobs", {"plan": plan}, Idempotency_Key="one")[1]["id"] == first
    again = client.plan(recipe("b.jinx", LONG, source=f"data/{source}"))
    assert again != plan
    assert client.ended(client.ask("POST", "/jobs", {"plan": again})[1]["id"])["state"] == "succeeded"


def test_a_job_whose_input_is_replaced_while_it_waits_fails(slow, tmp_path):
    client, step = slow(queued=3)
    running = client.start(recipe("a.jinx", step))
    wait_for_progress(client, running)
    jinx.convert(tmp_path / "data" / "in.jinx", tmp_path / "data" / "other.jinx")
    waiting = client.start(recipe("b.jinx", LONG, source="data/other.jinx"))
    jinx.convert(jinx.open(tmp_path / "data" / "in.jinx")[::-1], tmp_path / "data" / "other.jinx", overwrite=True)
    client.ask("POST", f"/jobs/{running}/cancel")
    ended = client.ended(waiting)
    assert ended["state"] == "failed"
    assert "data/other.jinx has changed since the plan was made" in ended["error"]
    assert not (tmp_path / "results" / "b.jinx").exists()


def test_jobs_run_below_a_relative_path(serve, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client = serve(state="here")
    assert client.ended(client.start(recipe("a.jinx", LONG)))["state"] == "succeeded"
    assert (tmp_path / "here" / "jobs").is_dir()


def test_the_directory_of_a_service_in_a_root_is_hidden(serve, tmp_path):
    own = tmp_path / "data" / "own"
    client = serve(state=own)
    (own / "copy.jinx").write_bytes((tmp_path / "data" / "in.jinx").read_bytes())
    assert client.ended(client.start(recipe("a.jinx", LONG)))["state"] == "succeeded"
    assert client.get("/datasets")["datasets"] == ["data/in.jinx", "results/a.jinx"]
    assert client.ask("GET", "/datasets/data/own/copy.jinx")[0] == 404
    assert client.ask("GET", "/datasets/data/in.jinx")[0] == 200


def test_a_cancelled_job_leaves_no_process_and_no_output(slow, tmp_path):
    client, step = slow()
    job = client.start(recipe("slow.jinx", step))
    queued = client.start(recipe("queued.jinx", step))
    wait_for_progress(client, job)
    assert processes_of(tmp_path)
    for one in (queued, job):
        assert client.ask("POST", f"/jobs/{one}/cancel")[0] == 202
    assert client.ended(queued)["starts"] == 0
    ended = client.ended(job)
    assert (ended["state"], ended["result"]) == ("cancelled", None)
    assert not processes_of(tmp_path)
    assert list((tmp_path / "results").iterdir()) == []
    assert not (tmp_path / "state" / "jobs" / job / "work").exists()
    assert client.ask("POST", f"/jobs/{job}/cancel")[1]["state"] == "cancelled"


def test_a_job_that_takes_too_long_fails(slow, tmp_path):
    client, step = slow(seconds=2.5)
    ended = client.ended(client.start(recipe("slow.jinx", step)))
    assert (ended["state"], ended["error"]) == ("failed", "it took longer than 2.5 s")
    assert not processes_of(tmp_path)


def test_a_full_queue_refuses_jobs(slow):
    client, step = slow(queued=1)
    running = client.start(recipe("a.jinx", step))
    wait_for_progress(client, running)
    client.start(recipe("b.jinx", step))
    status, headers, _ = client.raw(
        "POST",
        "/v1/jobs",
        body=b'{"plan": "%s"}' % client.plan(recipe("c.jinx", LONG)).encode(),
        Content_Type="application/json",
    )
    assert (status, headers["retry-after"]) == (429, "30")
    for job in client.get("/jobs")["jobs"]:
        client.ask("POST", f"/jobs/{job['id']}/cancel")
    client.ended(running)


def test_a_killed_job_is_resumed_and_one_that_dies_again_and_again_fails(slow, tmp_path):
    client, step = slow()
    job = client.start(recipe("slow.jinx", step, LONG))
    for starts in (1, 2, 3):
        wait_for_progress(client, job)
        assert client.get(f"/jobs/{job}")["starts"] == starts
        os.kill(int((tmp_path / "state" / "jobs" / job / "pid").read_text()), signal.SIGKILL)
        limit = time.monotonic() + 60
        while client.get(f"/jobs/{job}")["starts"] == starts and starts < 3:
            assert time.monotonic() < limit
            time.sleep(0.05)
    assert "3 times without a result" in client.ended(job)["error"]


def test_a_failed_run_says_why(serve, tmp_path):
    client = serve()
    plan = client.plan(recipe("a.jinx", LONG))
    (tmp_path / "results" / "a.jinx").write_text("in the way")
    ended = client.ended(client.ask("POST", "/jobs", {"plan": plan})[1]["id"])
    assert ended["state"] == "failed"
    assert "results/a.jinx" in ended["error"]
    assert str(tmp_path) not in ended["error"]
    assert (tmp_path / "results" / "a.jinx").read_text() == "in the way"


def test_the_first_event_of_a_job_comes_within_a_second(serve):
    client = serve()
    plans = [client.plan(recipe(f"{number}.jinx", LONG)) for number in range(3)]
    # A machine that stands still for a moment makes some of them late.
    assert min(seconds_until_first_event(client, plan) for plan in plans) < 1


def seconds_until_first_event(client: Client, plan: str) -> float:
    started = time.monotonic()
    job = client.ask("POST", "/jobs", {"plan": plan})[1]["id"]
    with socket.create_connection(("127.0.0.1", int(client.url.split(":")[2].partition("/")[0]))) as stream:
        stream.sendall(
            f"GET /v1/jobs/{job}/events HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
        )
        stream.settimeout(60)
        received = b""
        while b"event: state" not in received:
            received += stream.recv(4096)
    seconds = time.monotonic() - started
    client.ended(job)
    return seconds


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("jobs", [int(os.environ.get("JINX_JOBS", "4"))])
def test_queued_jobs_survive_a_killed_server_and_run_once_each(tmp_path, jobs):
    made_roots(tmp_path)
    (tmp_path / "token").write_text(TOKEN)
    (tmp_path / "token").chmod(0o600)

    def started() -> tuple[subprocess.Popen[str], Client]:
        command = [sys.executable, "-m", "jinx_pipeline", "serve", "--root", f"data={tmp_path / 'data'}"]
        command += ["--out", f"results={tmp_path / 'results'}", "--state", str(tmp_path / "state"), "--workers", "1"]
        command += ["--jobs", "2", "--token-file", str(tmp_path / "token")]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        assert server.stdout is not None
        return server, Client(server.stdout.readline().strip())

    server, client = started()
    waiting = [client.start(recipe(f"{number}.jinx", LONG, kind="view")) for number in range(jobs)]
    server.kill()
    server.communicate()
    server, client = started()
    try:
        ended = [client.ended(job, 500) for job in waiting]
        assert {(facts["state"], facts["starts"]) for facts in ended} == {("succeeded", 1)}
        assert {len(jinx.open(tmp_path / "results" / f"{number}.jinx")) for number in range(jobs)} == {
            len(jinx.open(tmp_path / "results" / "0.jinx"))
        }
        assert client.get("/jobs")["total"] == jobs
    finally:
        server.terminate()
        server.communicate(timeout=60)


def test_a_second_server_is_refused(serve, tmp_path):
    serve()
    command = [sys.executable, "-m", "jinx_pipeline", "serve", "--root", f"data={tmp_path / 'data'}"]
    done = subprocess.run([*command, "--state", str(tmp_path / "state")], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "another server has it" in done.stderr


def test_a_slow_client_loses_its_connection(serve, monkeypatch):
    from jinx._viewer import guard

    monkeypatch.setattr(guard, "_SECONDS", 0.5)
    client = serve()
    head = f"POST /v1/plans HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n"
    head += "Content-Type: application/json\r\n"
    with socket.create_connection(("127.0.0.1", int(client.url.split(":")[2].partition("/")[0])), timeout=60) as stream:
        stream.sendall(f"{head}Content-Length: 100\r\n\r\n{{".encode())
        assert stream.recv(4096).startswith(b"HTTP/1.1 408")
    assert client.get("/jobs")["total"] == 0
