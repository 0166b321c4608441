"""The commands of docs/how-to/service.md work as they stand there, and its files are what they should be."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import jinx
import pages

pytest.importorskip("starlette", reason="the extra `service`")

PAGE = "docs/how-to/service.md"
EXAMPLES = pages.ROOT / "examples" / "service"
# What installs, needs an agent or a builder, or names directories of other machines.
NOT_RUN = ("pip ", "docker ", "jinx-pipeline mcp", "jinx-pipeline serve --root data=/data")


def commands() -> list[str]:
    lines = [line for block in pages.blocks(PAGE, "text") for line in block.splitlines()]
    return [line[2:] for line in lines if line.startswith("$ ") and not line[2:].startswith(NOT_RUN)]


@pytest.mark.skipif("JINX_CASES" not in os.environ, reason="takes minutes: make test-service")
@pytest.mark.timeout(600)
def test_the_commands_of_the_page_run(chat_parquet, tmp_path):
    jinx.convert(chat_parquet, tmp_path / "in.jinx")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    found = [line.replace("8123", port) for line in commands()]
    assert len(found) > 8
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, pages.PACKAGES))}
    environment["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment.pop("OPENAI_BASE_URL", None)
    server = None
    try:
        for line in found:
            line = line.replace("jinx-pipeline ", "python -m jinx_pipeline ")  # noqa: PLW2901
            if " serve " in line:
                start = ["bash", "-c", f"exec {line}"]
                server = subprocess.Popen(start, cwd=tmp_path, env=environment, stdout=subprocess.PIPE)
                assert server.stdout is not None
                assert server.stdout.readline().startswith(b"http://127.0.0.1:")
                continue
            done = subprocess.run(
                ["bash", "-ec", line.replace("curl ", "curl --fail-with-body ")],
                cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, (line, done.stdout, done.stderr)
    finally:
        if server is not None:
            server.terminate()
            server.communicate(timeout=30)
    (job,) = (tmp_path / "jinx-service" / "jobs").glob("0*")
    assert json.loads((job / "exit.json").read_text())["ok"]
    assert len(jinx.open(tmp_path / "results" / "good.jinx")) > 0


def test_the_unit_and_the_container_start_the_server():
    unit = (EXAMPLES / "jinx-pipeline.service").read_text()
    dockerfile = (EXAMPLES / "Dockerfile").read_text()
    started = re.search(r"^ExecStart=\S+/jinx-pipeline (.*?)(?<!\\)$", unit, re.MULTILINE | re.DOTALL)
    assert started is not None
    command = re.search(r"^CMD (\[.*?\])$", dockerfile, re.MULTILINE | re.DOTALL)
    assert command is not None
    words = json.loads(command[1].replace("\\\n", ""))
    from jinx_pipeline.cli.serve import serve

    options = {name for option in serve.params for name in option.opts}
    for given in (started[1].replace("\\\n", " ").split(), words[1:]):
        assert given[0] == "serve"
        assert {word for word in given if word.startswith("--")} <= options
    extras = re.search(r"^ARG EXTRAS=(\S+)$", dockerfile, re.MULTILINE)
    assert extras is not None
    declared = tomllib.loads((pages.ROOT / "python/pipeline/pyproject.toml").read_text())["project"]
    assert set(extras[1].split(",")) <= set(declared["optional-dependencies"])
    # A private /tmp goes with the server, and its jobs do not.
    temporary = re.search(r"^Environment=TMPDIR=/var/lib/(\S+)$", unit, re.MULTILINE)
    kept = re.search(r"^StateDirectory=(.*)$", unit, re.MULTILINE)
    assert temporary is not None
    assert kept is not None
    assert temporary[1] in kept[1].split()
    # What linters of Dockerfiles ask for: a pinned base, no root, no cache.
    assert re.search(r"^FROM python:3\.\d+-slim$", dockerfile, re.MULTILINE)
    assert re.search(r"^USER (?!root)", dockerfile, re.MULTILINE)
    assert "--no-cache-dir" in dockerfile


def test_linters_find_nothing_in_the_container_file():
    pytest.importorskip("dockerfile_doctor")
    # A release that is not out yet cannot be pinned, and labels are for those who publish images.
    command = [sys.executable, "-m", "dockerfile_doctor", "--no-color", "--ignore", "DD028,DD046"]
    done = subprocess.run([*command, str(EXAMPLES / "Dockerfile")], capture_output=True, text=True, check=False)
    assert "DD0" not in done.stdout, done.stdout
    assert done.returncode == 0, done.stdout + done.stderr
    docker = shutil.which("docker")
    # Only BuildKit can check without an engine.
    if docker is not None and not subprocess.call([docker, "buildx", "version"], stdout=-3, stderr=-3):
        command = [docker, "buildx", "build", "--check", str(EXAMPLES)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr


def test_the_variants_of_the_page_can_be_read(tmp_path):
    from jinx_pipeline.sandbox.spec import read_spec

    (block,) = [block for block in pages.blocks(PAGE, "text") if block.startswith("dataset: ")]
    (tmp_path / "variants.yaml").write_text(block)
    spec = read_spec(tmp_path / "variants.yaml")
    assert [variant.name for variant in spec.variants] == list(yaml.safe_load(block)["variants"])
