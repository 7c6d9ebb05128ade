"""How long the program takes to answer: whole-process wall time, beside the AWS command line if it is there.

Run it as `.venv/bin/python bench/startup.py [--runs N] [--json]`. Ends with 1 when ours is not the faster one.
"""

from __future__ import annotations

import argparse
import json
import os
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


def measure(command: list[str], runs: int, shown: str) -> Timing:
    """Run it `runs` times after one warm-up. Raises CalledProcessError when it fails."""
    env = {**os.environ, "NO_COLOR": "1"}
    taken = []
    for number in range(runs + 1):
        began = time.perf_counter()
        subprocess.run(command, cwd=ROOT, env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if number:
            taken.append((time.perf_counter() - began) * 1000)
    return Timing(shown, round(min(taken), 1), round(statistics.median(taken), 1), runs)


def main() -> int:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true", dest="as_json")
    options = parser.parse_args()
    deployer = str(Path(sys.executable).with_name("deployer"))
    rows = [
        measure([deployer, "--help"], options.runs, "deployer --help"),
        measure([deployer, "plan", "stacks/g5-27b-mtp.yaml", "--offline"], options.runs, "deployer plan --offline"),
    ]
    aws = _aws()
    if aws is not None:
        rows.append(measure([aws, "--version"], options.runs, "aws --version"))
    if options.as_json:
        print(json.dumps([vars(row) for row in rows]))
    else:
        print(f"{'command':28} {'best ms':>9} {'median ms':>10}   ({options.runs} runs, whole process)")
        for row in rows:
            print(f"{row.command:28} {row.best_ms:>9.0f} {row.median_ms:>10.0f}")
        if aws is None:
            print("aws is not on PATH: nothing to compare with")
    return int(aws is not None and max(row.median_ms for row in rows[:-1]) >= rows[-1].median_ms)


def _aws() -> str | None:
    """The AWS command line itself, not a wrapper script that would only add to its time."""
    found = shutil.which("aws")
    pyenv = shutil.which("pyenv")
    if found and pyenv and "shims" in found:
        answer = subprocess.run([pyenv, "which", "aws"], capture_output=True, text=True, check=False)
        return answer.stdout.strip() or found
    return found


if __name__ == "__main__":
    sys.exit(main())
