"""What processes in the environment of Lance and faiss measure."""

import json
import subprocess
from typing import Any

from bench import environments

ENVIRONMENT = "vectors"


def measured(module: str, *arguments: object) -> dict[str, Any]:
    """What a module prints as its last line, or why it failed."""
    try:
        python = environments.python_of(ENVIRONMENT)
    except environments.InstallError as error:
        return {"failed": f"not installed: {error}"}
    command = [str(python), "-W", "ignore", "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=environments.ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
