"""The throughput model against the published points, and its own shape."""

from __future__ import annotations

import pytest

from deployer.catalog import models, speeds
from deployer.engine.throughput import Workload, accepted_drafts, distinct_experts, model_rate, predict
from tests.unit.engine.helpers import machine, model


def rate(point: speeds.SpeedPoint, **work: int) -> float:
    hardware, facts, shape = machine(point.instance), model(point.model), speeds.shape(point.model)
    file, found = models.file_for(facts, point.quant), speeds.class_of(hardware)
    assert shape and file and found
    size = file.size_bytes or file.size_estimate_bytes
    return model_rate(hardware, facts, shape, found[0], size, Workload(**{"drafts": point.drafts, **work}))


@pytest.mark.parametrize("point", speeds.points(), ids=lambda p: f"{p.instance}-{p.model}-{p.drafts}")
def test_every_published_point_is_within_15_percent(point) -> None:
    assert rate(point) == pytest.approx(point.tokens_per_second, rel=0.15)


def test_every_sign_of_mtp_is_right_with_the_published_acceptance() -> None:
    assert 0.80 <= speeds.acceptance() <= 0.85
    pairs = list(zip(speeds.points()[::2], speeds.points()[1::2], strict=True))
    assert len(pairs) == 5
    for off, on in pairs:
        assert (rate(on) > rate(off)) == (on.tokens_per_second > off.tokens_per_second)
    assert [off.instance for off, on in pairs if rate(on) > rate(off)] == ["c8i.4xlarge", "g5.xlarge"]


def test_experts_grow_with_the_batch_and_never_exceed_what_there_is() -> None:
    counts = [distinct_experts(256, 8, k) for k in (1, 2, 3, 1000)]
    assert counts[0] == pytest.approx(8) and counts == sorted(counts) and counts[-1] <= 256
    assert distinct_experts(0, 0, 3) == 0


def test_acceptance_is_accepted_over_drafted_at_two_and_falls_with_depth() -> None:
    assert accepted_drafts(2, 0.82) == pytest.approx(1.64)
    assert accepted_drafts(4, 0.82) / 4 < 0.82 < accepted_drafts(1, 0.82)
    assert accepted_drafts(2, 0.0) == 0


def test_more_context_is_slower_and_more_slots_give_more_in_all() -> None:
    point = speeds.points()[8]
    assert rate(point, filled=32768) < rate(point)
    assert rate(point) < rate(point, parallel=4) < 4 * rate(point)


def test_evidence_says_measured_by_whom_or_modelled() -> None:
    facts, size = model("Qwen3.6-27B"), 16_481_937_000
    seen = predict(machine("g5.xlarge"), facts, size, "Q4_K_M", Workload(drafts=2))
    other = predict(machine("g5.2xlarge"), facts, size, "Q4_K_M", Workload(drafts=2))
    here = predict(machine("g5.xlarge"), facts, size, "Q4_K_M", Workload(), measured_here=30.0)
    assert seen and other and here
    assert (seen.kind, seen.tokens_per_second) == ("measured", 47.89) and "AWS China blog" in seen.evidence
    assert other.evidence == "modelled ± 39%" and other.low < other.tokens_per_second < other.high
    assert (here.kind, here.tokens_per_second) == ("measured here", 30.0)
    assert predict(machine("g5.xlarge"), None, size, None, Workload()) is None


def test_a_modelled_band_holds_what_the_model_had_not_seen() -> None:
    """The published points, each predicted without itself by bench/fit_throughput.py, lie inside the band stated."""
    assert speeds.unseen_error() >= 0.29, "the worst point of the table in the README"
    c8g = predict(machine("c8g.2xlarge"), model("Qwen3.6-27B"), 17 * 10**9, None, Workload())
    assert c8g is not None and c8g.kind == "modelled"
    assert c8g.low <= c8g.tokens_per_second * (1 - speeds.unseen_error())
