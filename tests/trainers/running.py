"""Two processes on one machine, as `torchrun` starts them."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

RANKS = 2
COUNT = 21


def run(name: str, path: Path, out: Path) -> list[list[int]]:
    """What each rank saw."""
    out.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    script = Path(__file__).with_name("ranks.py")
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), name, str(path), str(out)],
            env={
                **os.environ,
                "RANK": str(rank),
                "LOCAL_RANK": str(rank) if name != "lightning" else "0",
                "NODE_RANK": str(rank) if name == "lightning" else "0",
                "WORLD_SIZE": str(RANKS),
                "LOCAL_WORLD_SIZE": str(RANKS) if name != "lightning" else "1",
                "MASTER_ADDR": "127.0.0.1",
                "MASTER_PORT": str(port),
                "OMP_NUM_THREADS": "1",
                "ACCELERATE_USE_CPU": "true",
                "CUDA_VISIBLE_DEVICES": "",
                "HF_HUB_OFFLINE": "1",
                "TOKENIZERS_PARALLELISM": "false",
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for rank in range(RANKS)
    ]
    texts = [process.communicate()[0] for process in processes]
    for process, text in zip(processes, texts, strict=True):
        assert process.returncode == 0, text[-3000:]
    return [json.loads((out / f"{rank}.json").read_text("utf-8")) for rank in range(RANKS)]
