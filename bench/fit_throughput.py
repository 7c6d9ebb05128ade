"""Fits the throughput model to the published points and prints the table: `python bench/fit_throughput.py [--write]`.

Each class has an effective bandwidth, a compute rate and (CPUs) an overhead per layer; the recurrent layers' cost per
core is one number for all CPUs. Weak priors keep a parameter in place that no remaining point speaks of, which is
what makes the leave-one-out column possible. The acceptance is not fitted.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from deployer.catalog import hardware, models, speeds
from deployer.catalog.speeds import ClassParameters, SpeedPoint
from deployer.engine.throughput import Workload, model_rate

DATA = Path(__file__).parent.parent / "deployer" / "catalog" / "data" / "throughput.json"
REFERENCE = {"graviton4": "c8g.4xlarge", "granite-rapids": "c8i.4xlarge", "cuda": "g5.xlarge"}
#: Prior of each parameter and its spread (natural log): wide, round, and the same for both kinds of CPU, so that a
#: left-out point does not come back through them. They were written down with the points known.
PRIORS = {
    "graviton4.bandwidth": (1.0, 0.7),
    "graviton4.compute": (25e9, 1.0),
    "graviton4.overhead": (3e-4, 1.5),
    "granite-rapids.bandwidth": (1.0, 0.7),
    "granite-rapids.compute": (25e9, 1.0),
    "granite-rapids.overhead": (3e-4, 1.5),
    "cpu.recurrent": (10e-3, 1.5),
    "cuda.bandwidth": (0.70, 0.3),
    "cuda.compute": (4e12, 1.0),
}
NAMES = tuple(PRIORS)
#: Spread of a measured point (natural log): the weight of the points against the priors.
POINT_SPREAD = 0.03


def main() -> None:
    """Print the table; with --write put the parameters into the catalogue."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true", help="put the fitted parameters into the catalogue")
    options = parser.parse_args()
    points = speeds.points()
    fitted = fit(points)
    alone = [modelled(point, fit([other for other in points if other != point])) for point in points]
    unseen = unseen_error(points, alone)
    print(table(points, fitted, alone))
    print(f"a point it has not seen is at most {unseen:.1%} off what it predicts: the band of `modelled`")
    if options.write:
        document = json.loads(DATA.read_text(encoding="utf-8"))
        document["classes"] = {name: vars(parameters_of(fitted, name)) for name in REFERENCE}
        document["unseen_error"] = _rounded(unseen)
        DATA.write_text(_compact(document), encoding="utf-8")


def fit(points: Sequence[SpeedPoint]) -> dict[str, float]:
    """The parameters that explain the points best, by Levenberg-Marquardt on logarithms."""
    prior = np.array([math.log(value) for value, _ in PRIORS.values()])
    spread = np.array([width for _, width in PRIORS.values()])

    def residuals(logs: np.ndarray) -> np.ndarray:
        values = dict(zip(NAMES, np.exp(logs).tolist(), strict=True))
        errors = [math.log(modelled(p, values) / p.tokens_per_second) / POINT_SPREAD for p in points]
        return np.concatenate([errors, (logs - prior) / spread])

    starts = [prior + share * spread for share in (0.0, 0.6, -0.6, -1.2)]
    ends = [_levenberg_marquardt(residuals, start) for start in starts]
    best = min(ends, key=lambda end: float(np.sum(residuals(end) ** 2)))
    return dict(zip(NAMES, np.exp(best).tolist(), strict=True))


def _levenberg_marquardt(residuals: Callable[[np.ndarray], np.ndarray], start: np.ndarray) -> np.ndarray:
    at, damping = start.copy(), 1.0
    errors = residuals(at)
    for _ in range(120):
        steps = 1e-4 * np.eye(len(at))
        jacobian = np.array([(residuals(at + s) - residuals(at - s)) / 2e-4 for s in steps]).T
        normal = jacobian.T @ jacobian
        move = np.linalg.solve(normal + damping * np.diag(np.diag(normal)), -jacobian.T @ errors)
        tried = residuals(at + move)
        if tried @ tried < errors @ errors:
            at, errors, damping = at + move, tried, max(damping / 3, 1e-6)
        else:
            damping *= 4
        if damping > 1e12:
            break
    return at


def parameters_of(values: dict[str, float], name: str) -> ClassParameters:
    """A class's parameters out of the fitted values."""
    machine = hardware.lookup(REFERENCE[name])
    assert machine is not None
    reference = machine.gpu.bandwidth_gbs if machine.gpu else machine.memory_bandwidth_gbs
    assert reference is not None
    on_cpu = machine.gpu is None
    return ClassParameters(
        bandwidth_efficiency=_rounded(values[f"{name}.bandwidth"]),
        compute=_rounded(values[f"{name}.compute"]),
        layer_overhead=_rounded(values[f"{name}.overhead"]) if on_cpu else 0.0,
        recurrent_core_seconds=_rounded(values["cpu.recurrent"]) if on_cpu else 0.0,
        reference_bandwidth_gbs=reference,
    )


def modelled(point: SpeedPoint, values: dict[str, float]) -> float:
    """Tokens a second of a point by the formula."""
    machine, facts = hardware.lookup(point.instance), models.lookup(point.model)
    assert machine is not None
    assert facts is not None
    shape, found = speeds.shape(point.model), speeds.class_name(machine.family)
    file = models.file_for(facts, point.quant)
    assert shape is not None
    assert found is not None
    assert file is not None
    size = file.size_bytes or file.size_estimate_bytes
    return model_rate(machine, facts, shape, parameters_of(values, found[0]), size, Workload(drafts=point.drafts))


def unseen_error(points: Sequence[SpeedPoint], alone: Sequence[float]) -> float:
    """The largest distance of a measured speed from what the other points predict (alone), as a share of that."""
    return max(abs(point.tokens_per_second / speed - 1) for point, speed in zip(points, alone, strict=True))


def table(points: Sequence[SpeedPoint], fitted: dict[str, float], others_alone: Sequence[float]) -> str:
    """The article's table, measured beside modelled, and each point as predicted from the others alone."""
    heads = f"{'instance':12} {'model':16} {'MTP':4} {'measured':>8} {'modelled':>8} {'error':>7}"
    lines = [f"{heads} {'left out':>9} {'error':>7}"]
    for point, alone in zip(points, others_alone, strict=True):
        here = modelled(point, fitted)
        real = point.tokens_per_second
        mtp = f"n={point.drafts}" if point.drafts else "off"
        lines.append(
            f"{point.instance:12} {point.model:16} {mtp:4} {real:8.2f} {here:8.2f} {here / real - 1:+7.1%}"
            f" {alone:9.2f} {alone / real - 1:+7.1%}"
        )
    lines += ["", "MTP's effect          measured  modelled"]
    for off, on in zip(points[::2], points[1::2], strict=True):
        effect = on.tokens_per_second / off.tokens_per_second - 1
        here = modelled(on, fitted) / modelled(off, fitted) - 1
        sign = "right" if (effect > 0) == (here > 0) else "WRONG"
        lines.append(f"{off.instance:12} {off.model:16} {effect:+7.1%} {here:+7.1%}  sign {sign}")
    lines += ["", f"acceptance {speeds.acceptance():.0%}, not fitted (published: 80 to 85 %)"]
    lines += [f"{name:26} {value:.4g}" for name, value in fitted.items()]
    return "\n".join(lines)


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _compact(document: dict[str, object]) -> str:
    """One line for each row, as the other data files have it."""
    parts = []
    for key, value in document.items():
        match value:
            case dict() if key in {"shapes", "classes"}:
                rows = ",\n".join(f"  {json.dumps(name)}: {json.dumps(row)}" for name, row in value.items())
                parts.append(f" {json.dumps(key)}: {{\n{rows}\n }}")
            case list():
                rows = ",\n".join(f"  {json.dumps(row)}" for row in value)
                parts.append(f" {json.dumps(key)}: [\n{rows}\n ]")
            case _:
                parts.append(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


if __name__ == "__main__":
    main()
