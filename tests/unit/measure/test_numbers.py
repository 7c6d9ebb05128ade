"""Medians, spreads, the document that is kept, and two of them side by side."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from deployer.errors import UsageError
from deployer.measure.cases import Wishes, cases, long_prompt
from deployer.measure.comparing import differences, unlike
from deployer.measure.numbers import Answer, Round, Spread, numbers_of
from deployer.measure.result import Predicted, Result, Row, parse

_RATES = st.floats(0.01, 1e5)
_ANSWERS = st.builds(
    Answer,
    first_token_seconds=_RATES,
    tokens=st.integers(1, 10_000),
    per_second=st.none() | _RATES,
    prompt_tokens=st.none() | st.integers(1, 100_000),
    prompt_per_second=st.none() | _RATES,
    drafts=st.none() | st.integers(0, 1000),
    accepted=st.none() | st.integers(0, 1000),
)
_ROUNDS = st.lists(st.builds(Round, st.lists(_ANSWERS, min_size=1, max_size=4).map(tuple), _RATES), max_size=4)
_ROWS = st.builds(
    Row,
    st.sampled_from(["text", "concurrent", "prompt"]),
    st.text(max_size=12),
    st.integers(1, 64),
    _ROUNDS.map(numbers_of),
)
_PREDICTED = st.none() | st.builds(Predicted, _RATES, _RATES, _RATES, st.text())
_RESULTS = st.builds(
    Result,
    st.text(),
    st.text(),
    st.text(),
    st.integers(1, 9),
    st.integers(1, 999),
    st.lists(_ROWS, max_size=6, unique_by=lambda row: (row.kind, row.name)).map(tuple),
    _PREDICTED,
    st.none() | st.text(),
)


def _answer(rate: float, *, drafts: int | None = None, accepted: int | None = None) -> Answer:
    return Answer(0.5, 20, rate, 10, 100.0, drafts, accepted)


def _result(*rates: float, predicted: Predicted | None = None) -> Result:
    numbers = numbers_of([Round((_answer(rate),), 2.0) for rate in rates])
    return Result("box", "m", "2026-12-01", len(rates), 20, (Row("text", "english", 1, numbers),), predicted)


@given(st.lists(_RATES, min_size=1))
def test_a_spread_is_in_order_and_of_the_sample(values):
    spread = Spread.of(values)
    numbers = [spread.low, spread.lower_quarter, spread.median, spread.upper_quarter, spread.high]
    slack = 1e-9 * spread.high
    assert all(low <= high + slack for low, high in itertools.pairwise(numbers))
    assert (spread.low, spread.high) == (min(values), max(values))


def test_streams_together_count_the_wall_time_and_all_drafts():
    one = numbers_of([Round((_answer(30, drafts=10, accepted=9), _answer(10, drafts=30, accepted=3)), 4.0)])
    assert one.together.median == 10.0
    assert one.per_stream.median == 20.0
    assert one.acceptance == 0.3
    assert numbers_of([Round((_answer(1),), 1.0)]).acceptance is None


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(_RESULTS)
def test_a_result_is_read_as_it_was_written(result):
    assert Result.of(json.loads(json.dumps(result.document()))) == result


@given(
    st.text()
    | st.recursive(st.none() | st.integers(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)).map(json.dumps)
)
def test_anything_else_is_refused_with_the_files_name(text):
    with pytest.raises(UsageError, match="not a result") as refused:
        parse(text, "a.json")
    assert refused.value.where == "a.json"


@pytest.mark.parametrize(("rate", "verdict"), [(9.0, "below"), (10.0, "inside"), (30.0, "inside"), (30.1, "above")])
def test_the_prediction_is_held_against_one_stream(rate, verdict):
    assert _result(rate, predicted=Predicted(20, 10, 30, "modelled")).verdict() == verdict
    assert _result(rate).verdict() is None


def test_a_change_within_the_noise_is_told_from_one_beyond():
    before, noise, beyond = _result(10, 11, 12), _result(11, 12, 13), _result(20, 21, 22)
    (same,) = [row for row in differences(before, noise) if row.what == "tok/s"]
    (more,) = [row for row in differences(before, beyond) if row.what == "tok/s"]
    assert not same.apart and more.apart
    assert more.change == pytest.approx(21 / 11 - 1)


def test_other_settings_are_named():
    one = _result(10)
    assert unlike(one, one) == []
    other = replace(one, max_tokens=99, model="b", ended="interrupted")
    assert [why.partition(":")[0] for why in unlike(one, other)] == [
        "models",
        "tokens of an answer",
        "box was not measured to its end",
    ]


def test_what_only_one_of_them_measured_is_shown_too():
    one = _result(10)
    other = replace(one, rows=(Row("prompt", "512 tokens", 1, None, "the context is too small"),))
    rows = differences(one, other)
    assert {(row.case, row.before is None, row.after is None) for row in rows} >= {
        ("english", False, True),
        ("512 tokens", True, True),
    }
    assert all(row.change is None for row in rows)


def test_the_cases_are_those_that_were_wished_for():
    todo = cases(Wishes(2, 64, (1, 8), (100,)))
    assert [case.name for case in todo] == ["english", "chinese", "code", "1 at once", "8 at once", "100 tokens"]
    assert [case.concurrency for case in todo] == [1, 1, 1, 1, 8, 1]
    assert len({*todo[4].prompts}) == 3, "streams with one text would be one cache line for the engine"


@given(st.integers(1, 5000), st.floats(0.5, 8))
def test_a_long_prompt_is_of_the_wished_length(tokens, per_token):
    assert len(long_prompt(tokens, per_token)) == max(int(tokens * per_token), 1)
