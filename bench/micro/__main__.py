"""`python -m bench.micro [PYTEST ARGUMENTS]`: pytest-benchmark over this package, in an environment of its own."""

import os
import subprocess
import sys
from pathlib import Path

from bench import environments

HERE = Path(__file__).parent


def main() -> int:
    """Run them; results are kept below ~/.cache/jinx/bench/micro when `--benchmark-autosave` is given."""
    command = [
        environments.python_of("micro"),
        "-m",
        "pytest",
        "-q",
        f"--config-file={HERE / 'pytest.ini'}",
        f"--benchmark-storage={environments.cache() / 'micro'}",
        "--benchmark-columns=min,median,ops,rounds",
        "--benchmark-sort=name",
        *sys.argv[1:],
        HERE,
    ]
    here = {**os.environ, "PYTHONPATH": str(environments.ROOT / "python")}
    return subprocess.run(command, env=here, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
