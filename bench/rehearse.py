"""Where the time of a rehearsal goes: its phases, and what the machine did inside `up`.

Run it as `.venv/bin/python bench/rehearse.py [SPEC] [--runs N]`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]


def rehearse(spec: str) -> list[dict[str, Any]]:
    """One rehearsal's events, on the kind of machine that every computer has. Raises CalledProcessError."""
    command = [sys.executable, "-m", "deployer", "rehearse", spec, "--json", "--machines", "process"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def box_phases(events: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds of each phase of the instance's agent, as its console told."""
    return {
        f"box: {event['phase']}": float(event["seconds"])
        for event in events
        if event["event"] == "phase" and event.get("state") == "done" and event.get("seconds") is not None
    }


def main() -> int:
    """Rehearse several times and print the median of each phase."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", nargs="?", default="stacks/g5-27b-mtp.yaml")
    parser.add_argument("--runs", type=int, default=3)
    options = parser.parse_args()
    rows: dict[str, list[float]] = {}
    for _ in range(options.runs):
        events = rehearse(options.spec)
        summary = events[-1]
        seconds = {phase["name"]: phase["seconds"] for phase in summary["phases"]}
        for name, value in {**seconds, **box_phases(events), "total": summary["seconds"]}.items():
            rows.setdefault(name, []).append(value)
    print(f"{options.spec}, median of {options.runs}")
    for name, values in rows.items():
        print(f"  {name:22} {statistics.median(values):6.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
