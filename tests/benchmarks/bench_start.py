"""How long a command takes from exec to exit, beside bare Python in the same run.

python -m tests.benchmarks.bench_start
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROUNDS = 15
INVENTORY = '[cluster]\nname = "bench"\n[nodes.gpu1]\n'


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        config = Path(directory, "cockpit.toml")
        config.write_text(INVENTORY)
        cockpit = [sys.executable, "-m", "cockpit", "--config", str(config)]
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "cockpit --version": [*cockpit, "--version"],
            "cockpit --help": [*cockpit, "--help"],
            "cockpit ps": [*cockpit, "ps"],
            "import textual.app": [sys.executable, "-c", "import textual.app"],
        }
        medians = _medians(commands, {"XDG_STATE_HOME": directory, "PATH": "/usr/bin:/bin"})
    bare = medians["python -c pass"]
    for name, seconds in medians.items():
        sys.stdout.write(
            f"{name:<20} {seconds * 1e3:7.1f} ms  {seconds / bare:5.2f} x bare Python\n"
        )


def _medians(commands: dict[str, list[str]], environ: dict[str, str]) -> dict[str, float]:
    """Seconds by name; the commands take turns, so that a noisy moment meets all of them."""
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(ROUNDS):
        for name, command in commands.items():
            begin = time.perf_counter()
            subprocess.run(command, env=environ, stdout=subprocess.DEVNULL, check=True)
            taken[name].append(time.perf_counter() - begin)
    return {name: statistics.median(values) for name, values in taken.items()}


if __name__ == "__main__":
    main()
