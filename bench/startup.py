"""How long the program takes to answer: whole-process wall time, beside the AWS command line if it is there.

Run it as `.venv/bin/python bench/startup.py [--runs N] [--json]`. It only tells: a busy machine is no mistake of ours.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Timing:
    """Milliseconds of wall time, process start included."""

    command: str
    best_ms: float
    median_ms: float
    runs: int


def measure(commands: dict[str, list[str]], runs: int) -> list[Timing]:
    """Run all of them in turn, `runs` times after one warm-up, so that a busy moment meets every one.

    Raises CalledProcessError when one fails.
    """
    taken: dict[str, list[float]] = {shown: [] for shown in commands}
    for _ in range(runs + 1):
        for shown, command in commands.items():
            began = time.perf_counter()
            subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            taken[shown].append((time.perf_counter() - began) * 1000)
    return [
        Timing(shown, round(min(times[1:]), 1), round(statistics.median(times[1:]), 1), runs)
        for shown, times in taken.items()
    ]


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    deployer = str(Path(sys.executable).with_name("deployer"))
    commands = {
        "deployer --help": [deployer, "--help"],
        "deployer plan --offline": [deployer, "plan", "stacks/g5-27b-mtp.yaml", "--offline"],
    }
    aws = _aws()
    if aws is not None:
        commands["aws --version"] = [aws, "--version"]
    rows = measure(commands, options.runs)
    if options.as_json:
        print(json.dumps([vars(row) for row in rows]))
    else:
        print(f"{'command':28} {'best ms':>9} {'median ms':>10}   ({options.runs} runs, whole process)")
        for row in rows:
            print(f"{row.command:28} {row.best_ms:>9.0f} {row.median_ms:>10.0f}")
        if aws is None:
            print("aws is not on PATH: nothing to compare with")


def _aws() -> str | None:
    """The AWS command line itself, not a wrapper script that would only add to its time."""
    found = shutil.which("aws")
    pyenv = shutil.which("pyenv")
    if found and pyenv and "shims" in found:
        answer = subprocess.run([pyenv, "which", "aws"], capture_output=True, text=True, check=False)
        return answer.stdout.strip() or found
    return found


if __name__ == "__main__":
    main()
