"""Schemathesis finds no fault in the REST interface: requests made from its OpenAPI document."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service_client import LONG, TOKEN, recipe

pytest.importorskip("starlette", reason="the extra `service`")
pytest.importorskip("schemathesis")

CASES = int(os.environ.get("JINX_CASES", "0"))


@pytest.mark.skipif(not CASES, reason="takes minutes: make test-service")
@pytest.mark.timeout(1800)
def test_no_request_finds_a_fault(serve, tmp_path):
    client = serve()
    plan = client.plan(recipe("a.jinx", LONG))
    client.ended(client.ask("POST", "/jobs", {"plan": plan})[1]["id"])
    document = client.get("/openapi.json")
    operations = sum(len(methods) for methods in document["paths"].values())
    report = tmp_path / "report.json"
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{client.url}/openapi.json"]
    command += ["--header", f"Authorization: Bearer {TOKEN}", "--max-examples", str(max(1, CASES // operations))]
    command += [
        "--continue-on-failure",
        "--no-shrink",
        "--no-color",
        "--seed",
        "1",
        "--phases",
        "examples,coverage,fuzzing",
    ]
    command += [
        "--generation-database",
        ":memory:",
        "--report-json-path",
        str(report),
        "--suppress-health-check",
        "all",
        "--request-timeout",
        "60",  # a busy machine answers late
    ]
    # Whether a recipe can be run is more than its schema says.
    command += ["--exclude-checks", "positive_data_acceptance"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    found = re.search(r"([\d,]+) generated", done.stdout)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-1000:]
    assert found is not None, done.stdout[-2000:]
    assert int(found[1].replace(",", "")) >= CASES
    assert json.loads(report.read_text())
    # It may learn the id of the plan from an answer, and run it; there is no other.
    assert {job["plan"] for job in client.get("/jobs?count=240")["jobs"]} == {plan}
