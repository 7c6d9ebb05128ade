"""What `deployer tune` picks against an exhaustive sweep, on this machine with real llama.cpp.

The sweep measures MTP off and n = 1 to 8 at every thread count that tune knows; tune stops where more only costs.
Run it as `.venv/bin/python bench/tune_against_sweep.py [--json]`: three synthetic models, some minutes in all.
With --tables it tunes only, two models, and shows what a person sees.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from deployer.agent.config import Config
from deployer.agent.console import Console, Phase
from deployer.agent.engine import EngineProcess
from deployer.agent.measuring import Bench
from deployer.agent.readiness import Engine
from deployer.agent.stop import Stop
from deployer.agent.tuning import (
    DRAFTS,
    Candidate,
    Row,
    as_json,
    choice_in,
    following,
    judge,
    name_of,
    pick,
    thread_counts,
)
from deployer.cli.deciding import decided
from deployer.engine.tuned import parse_report
from deployer.rehearsal import tiny_model
from deployer.settings import Settings
from deployer.targets.local_engine import find_llama_server
from deployer.targets.local_plan import local_config
from deployer.views.table import Page
from deployer.views.tuning import tuned_lines

SWEPT_DRAFTS = range(9)
#: Scale and acceptance of each model: drafts do not pay, they do, they are worthless.
MODELS = ((2, 0.9), (3, 0.9), (2, 0.0))
_SPEC = """\
name: sweep
target: local
model: {{source: "file://{folder}", file: {file}, alias: tiny, mtp_head: true}}
engine: {{context: 4096, mtp: auto}}
"""


@dataclass(frozen=True)
class Outcome:
    """Speeds in tokens/s as the sweep measured them. ratio: of tune's pick to the sweep's best."""

    model: str
    megabytes: float
    accept: float
    picked: str
    best: str
    picked_tok_s: float
    best_tok_s: float
    ratio: float
    tune_starts: int
    tune_requests: int
    tune_seconds: float
    sweep_starts: int
    sweep_requests: int
    sweep_seconds: float
    spread: float


class Machine:
    """The computer it runs on, as the agent sees it, with one model."""

    def __init__(self, folder: Path, model: Path) -> None:
        environ = {**os.environ, "DEPLOYER_HOME": str(folder)}
        settings = Settings.from_env(environ)
        spec = folder / "spec.yaml"
        spec.write_text(_SPEC.format(folder=model.parent, file=model.name))
        body = local_config(decided(spec, settings), find_llama_server(environ), 1)
        self.config = Config(body, {})
        Path(self.config.state).mkdir(parents=True, exist_ok=True)
        Path(self.config.key_file).write_text("sk-sweep\n")
        self.config.argv[self.config.argv.index("-m") + 1] = str(model)
        self._process = EngineProcess(self.config)
        self._process.command = [*self.config.command, *self.config.argv]
        self._stop = Stop()
        self._phase = Phase(Console(self.config.console), "tuning")
        self.threads = thread_counts(choice_in(self.config.argv)[1], os.cpu_count() or 1, free=True)

    def bench(self) -> Bench:
        """A fresh one: it counts its own requests."""
        engine = Engine(self.config, "sk-sweep", self._process, self._stop)
        return Bench(self.config, engine, self._process, self._stop, "0.0")

    def measure(self, bench: Bench, candidate: Candidate) -> Row:
        """One candidate."""
        return bench.measure(candidate, self._phase)


def tuned(machine: Machine, bench: Bench) -> list[Row]:
    """What tune measures, judged; the winner's verdict begins with `chosen`."""
    rows: list[Row] = []
    while (candidate := following(rows, machine.threads, DRAFTS)) is not None:
        rows.append(machine.measure(bench, candidate))
    judge(rows, pick(rows, DRAFTS, machine.threads[0]), DRAFTS)
    return rows


def table(folder: Path, scale: int, accept: float) -> str:
    """What a person sees of one tuning."""
    model = tiny_model.cached(folder / "models", tiny_model.Variant(accept=accept, scale=scale))
    machine = Machine(folder, model)
    bench = machine.bench()
    rows = tuned(machine, bench)
    winner = next(row for row in rows if row.why.startswith("chosen"))
    report = parse_report(as_json(rows, chosen={**vars(winner), "tok_s": winner.median}, applied=True))
    assert report is not None
    title = f"{model.stat().st_size / 1e6:.0f} MB, {accept:.0%} of the drafts right"
    return "\n".join([title, *tuned_lines(report.document(), Page(110, colour=False))[:-2]])


def compare(folder: Path, scale: int, accept: float) -> Outcome:
    """Tune, then sweep."""
    variant = tiny_model.Variant(accept=accept, scale=scale)
    model = tiny_model.cached(folder / "models", variant)
    machine = Machine(folder, model)
    began = time.monotonic()
    bench = machine.bench()
    rows = tuned(machine, bench)
    took = time.monotonic() - began
    winner = next(row for row in rows if row.why.startswith("chosen"))
    began = time.monotonic()
    sweep = machine.bench()
    swept = [machine.measure(sweep, (drafts, threads)) for threads in machine.threads for drafts in SWEPT_DRAFTS]
    best = max(swept, key=lambda row: row.speed)
    same = next(row for row in swept if row.candidate == winner.candidate)
    return Outcome(
        model=variant.file_name,
        megabytes=round(model.stat().st_size / 1e6, 1),
        accept=accept,
        picked=name_of(winner.candidate),
        best=name_of(best.candidate),
        picked_tok_s=same.speed,
        best_tok_s=best.speed,
        ratio=round(same.speed / best.speed, 3),
        tune_starts=len(rows),
        tune_requests=bench.requests,
        tune_seconds=round(took, 1),
        sweep_starts=len(swept),
        sweep_requests=sweep.requests,
        sweep_seconds=round(time.monotonic() - began, 1),
        spread=round(statistics.median(((row.high or 0) - (row.low or 0)) / row.speed for row in swept), 3),
    )


HEADING = """\
| model | drafts right | tune picks | tok/s | sweep's best | tok/s | ratio | starts | requests | rounds differ by |
|---|---:|---|---:|---|---:|---:|---:|---:|---:|"""


def row_of(one: Outcome) -> str:
    """One row of the README's table."""
    return (
        f"| {one.megabytes:.0f} MB | {one.accept:.0%} | {one.picked} | {one.picked_tok_s:.0f} | {one.best} "
        f"| {one.best_tok_s:.0f} | {one.ratio:.2f} | {one.tune_starts} of {one.sweep_starts} "
        f"| {one.tune_requests} of {one.sweep_requests} | {one.spread:.1%} |"
    )


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one object a line instead of the table")
    parser.add_argument("--tables", action="store_true", help="tune only, and show its tables")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        if arguments.tables:
            print("\n\n".join(table(Path(name), *model) for model in MODELS[1:]))
            return
        if not arguments.json:
            print(HEADING)
        for model in MODELS:
            outcome = compare(Path(name), *model)
            print(json.dumps(asdict(outcome)) if arguments.json else row_of(outcome), flush=True)


if __name__ == "__main__":
    main()
