"""What is tried, when it stops, and what wins."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.agent.tuning import (
    DRAFTS,
    MARGIN,
    Row,
    choice_in,
    cliff,
    following,
    judge,
    may_win,
    pick,
    thread_counts,
    with_choice,
)

Speeds = Callable[[int, int], float]


def _tuned(
    speeds: Speeds, threads: list[int], *, acceptance: float = 0.8, drafts: tuple[int, ...] = DRAFTS
) -> list[Row]:
    """Every row of a whole tuning of a machine with these speeds; 0 = does not run."""
    rows: list[Row] = []
    while (candidate := following(rows, threads, drafts)) is not None:
        assert candidate not in [row.candidate for row in rows]
        speed = speeds(*candidate) or None
        rows.append(Row(*candidate, median=speed, acceptance=acceptance if candidate[0] and speed else None))
    return rows


def _won(rows: list[Row], decided: int = 8, drafts: tuple[int, ...] = DRAFTS) -> tuple[int, int]:
    winner = pick(rows, drafts, decided)
    assert winner is not None
    return winner.candidate


def test_a_cpu_that_gains_although_the_rule_says_off() -> None:
    # 27B on c8i: 4.56 without, 5.36 with two drafts.
    curve = {0: 4.56, 1: 5.1, 2: 5.36, 3: 5.2, 4: 4.8}
    rows = _tuned(lambda drafts, threads: curve[drafts] * (1 if threads == 8 else 0.7), [8, 16, 4])
    assert _won(rows) == (2, 8)


def test_a_gpu_whose_head_has_nothing_accepted() -> None:
    rows = _tuned(lambda drafts, _: 26.0 if not drafts else 18.0, [8], acceptance=0.0)
    assert [row.candidate for row in rows] == [(0, 8), (1, 8)]
    assert cliff(rows, 8) == "n=1 had no draft accepted"
    winner = pick(rows, DRAFTS, 8)
    judge(rows, winner, DRAFTS)
    assert _won(rows) == (0, 8)
    assert rows[1].why == "no draft accepted, -31 %"


def test_four_drafts_that_collapse() -> None:
    # A 4090: three are best, four fall to six tokens a second.
    curve = {0: 45.0, 1: 66.0, 2: 78.0, 3: 84.0, 4: 6.0}
    assert _won(_tuned(lambda drafts, _: curve[drafts], [8])) == (3, 8)


def test_more_than_four_while_more_is_faster() -> None:
    curve = {0: 10.0, 1: 12.0, 2: 14.0, 3: 16.0, 4: 18.0, 5: 20.0, 6: 19.0, 7: 30.0}
    rows = _tuned(lambda drafts, _: curve[drafts], [8])
    assert [row.drafts for row in rows] == [0, 1, 2, 3, 4, 5, 6]
    assert _won(rows) == (5, 8)
    # One number in the spec is one number.
    assert [row.drafts for row in _tuned(lambda drafts, _: curve[drafts], [8], drafts=(0, 3))] == [0, 3]


def test_verifying_may_want_other_threads_than_plain_decoding() -> None:
    speeds = {(0, 8): 10.0, (0, 16): 8.0, (0, 4): 6.0, (1, 8): 11.0, (2, 8): 12.0, (3, 8): 9.0, (2, 16): 15.0}
    rows = _tuned(lambda *one: speeds.get(one, 5.0), [8, 16, 4])
    assert _won(rows) == (2, 16)


def test_a_gain_below_the_margin_keeps_mtp_off() -> None:
    rows = _tuned(lambda drafts, _: 10.0 + 0.1 * min(drafts, 4), [8])
    judge(rows, pick(rows, DRAFTS, 8), DRAFTS)
    assert _won(rows) == (0, 8)
    assert rows[0].why == "chosen: the simplest within 5 % of the fastest"
    assert rows[4].why == "+4 %, less than the margin of 5 %"


def test_no_head_in_the_file_is_a_row_and_no_end() -> None:
    rows = _tuned(lambda drafts, _: 10.0 if not drafts else 0.0, [8])
    assert [row.candidate for row in rows] == [(0, 8), (1, 8)]
    assert _won(rows) == (0, 8)


def test_what_the_spec_set_is_never_overruled() -> None:
    on = (1, 2, 3, 4)
    rows = _tuned(lambda drafts, _: 10.0 - drafts, [8], drafts=on)
    assert rows[0].candidate == (0, 8)
    assert _won(rows, drafts=on)[0] > 0
    judge(rows, pick(rows, on, 8), on)
    assert rows[0].why.startswith("only to compare with")
    assert [row.candidate for row in _tuned(lambda *_: 10.0, [8, 4], drafts=(0,))] == [(0, 8), (0, 4)]


def test_nothing_runs() -> None:
    assert pick(_tuned(lambda *_: 0.0, [8, 4]), DRAFTS, 8) is None


@pytest.mark.parametrize(
    ("decided", "logical", "free", "counts"),
    [(8, 16, True, [8, 16, 4]), (1, 1, True, [1]), (2, 2, True, [2, 1]), (8, 16, False, [8]), (0, 16, True, [0])],
)
def test_thread_counts(decided: int, logical: int, free: bool, counts: list[int]) -> None:
    assert thread_counts(decided, logical, free) == counts


ARGV = ["-m", "x.gguf", "-t", "8", "-tb", "8", "--metrics", "--spec-type", "draft-mtp"]
ARGV += ["--spec-draft-n-max", "2", "--spec-draft-p-min", "0.0", "--threads-http", "2"]


def test_arguments_of_a_candidate() -> None:
    off = with_choice(ARGV, (0, 4), "0.0")
    assert off == ["-m", "x.gguf", "-t", "4", "-tb", "4", "--metrics", "--threads-http", "2"]
    assert choice_in(off) == (0, 4)
    assert choice_in(with_choice(off, (3, 8), "0.25")) == (3, 8)


@given(st.integers(0, 16), st.integers(1, 512))
def test_a_choice_is_read_back_and_made_once(drafts: int, threads: int) -> None:
    once = with_choice(ARGV, (drafts, threads), "0.0")
    assert choice_in(once) == (drafts, threads)
    assert with_choice(once, (drafts, threads), "0.0") == once
    assert once.count("--spec-type") == (drafts > 0)


SPEED = st.one_of(st.just(0.0), st.floats(0.5, 500))


@given(
    st.dictionaries(st.tuples(st.integers(0, 4), st.sampled_from([8, 16, 4])), SPEED),
    st.lists(st.sampled_from([8, 16, 4]), min_size=1, max_size=3, unique=True),
    st.sampled_from([(0, 1, 2, 3, 4), (0,), (0, 3), (1, 2, 3, 4)]),
    st.floats(0, 1),
)
def test_whatever_the_machine_does(
    speeds: dict[tuple[int, int], float], threads: list[int], drafts: tuple[int, ...], acceptance: float
) -> None:
    rows = _tuned(lambda *one: speeds.get(one, 0.0), threads, acceptance=acceptance, drafts=drafts)
    assert len(rows) <= 2 * len(threads) + 8
    winner = pick(rows, drafts, threads[0])
    able = [row for row in rows if row.median and may_win(row.drafts, drafts)]
    judge(rows, winner, drafts)
    if winner is None:
        assert able == []
        return
    assert winner in able
    fastest = max(row.speed for row in able)
    assert winner.speed * (1 + MARGIN) >= fastest
    # MTP is on only when it beats everything plain by more than the margin.
    plain = [row.speed for row in able if not row.drafts]
    assert not winner.drafts or not plain or fastest > max(plain) * (1 + MARGIN) * 0.999999
    assert [row for row in rows if row.why.startswith("chosen")] == [winner]
    assert all(row.why for row in rows if row.median)
