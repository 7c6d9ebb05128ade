"""The measured choice of drafts and threads: what is tried in which order and what wins. Pure.

A candidate is (drafts, threads): tokens drafted for one step, 0 = MTP off; threads 0 = as the engine likes.
"""

from __future__ import annotations

from typing import Any, Sequence, Tuple

TUNE_VERSION = 1
#: The simplest candidate within this share of the fastest wins: on a quiet machine the rounds of an engine lie 2 to 5 %
#: apart (bench/tune_against_sweep.py --tables), and MTP costs memory and prefill speed that decoding does not show.
MARGIN = 0.05
#: Below this share of the fastest one so far, and no better than one draft less: more drafts only cost more.
CLIFF = 0.8
#: A head of which fewer drafts are accepted has nothing to give.
LEAST_ACCEPTANCE = 0.02
#: One head is chained on itself, so acceptance falls with depth: four are enough, unless the fourth is the fastest.
DRAFTS = (0, 1, 2, 3, 4)
MOST_DRAFTS = 8

Candidate = Tuple[int, int]


class Row:
    """What one candidate showed. Speeds in tokens/s: median, lowest and highest run; median None = it did not run.

    acceptance: accepted share of the drafted tokens, None without drafts. same: is the text the plain engine's?
    None where nothing is to compare. why: the verdict, or what went wrong.
    """

    def __init__(
        self,
        drafts: int,
        threads: int,
        median: float | None = None,
        low: float | None = None,
        high: float | None = None,
        acceptance: float | None = None,
        same: bool | None = None,
        why: str = "",
    ) -> None:
        self.drafts = drafts
        self.threads = threads
        self.median = median
        self.low = low
        self.high = high
        self.acceptance = acceptance
        self.same = same
        self.why = why

    @property
    def candidate(self) -> Candidate:
        """Which one it is."""
        return self.drafts, self.threads

    @property
    def speed(self) -> float:
        """The median; 0 when it did not run."""
        return self.median or 0.0


def name_of(candidate: Candidate) -> str:
    """For people: `MTP n=2, 4 threads`."""
    drafts, threads = candidate
    counted = ", %d thread%s" % (threads, "" if threads == 1 else "s") if threads else ""
    return ("MTP n=%d" % drafts if drafts else "MTP off") + counted


def thread_counts(decided: int, logical: int, free: bool) -> list[int]:
    """What to try: the decided count first, every logical processor, half of the decided ones."""
    wanted = [decided] if not free or not decided else [decided, logical, decided // 2]
    return [count for place, count in enumerate(wanted) if count not in wanted[:place] and (count or not decided)]


def following(rows: Sequence[Row], threads: Sequence[int], drafts: Sequence[int]) -> Candidate | None:
    """The next candidate after these rows, None when enough is known.

    First the plain engine at every thread count; at its best one 1, 2, ... drafts up to a cliff, and on for as long as
    the last one is the fastest; then the best of them at the other counts, because verifying computes more for each
    byte than plain decoding.
    """
    tried = {row.candidate for row in rows}
    for count in threads:
        if (0, count) not in tried:
            return 0, count
    plain = _fastest([row for row in rows if not row.drafts])
    if plain is None:
        return None
    for number in sorted(drafts):
        if (number, plain.threads) not in tried:
            if cliff(rows, plain.threads):
                break
            return number, plain.threads
    last = max((row for row in rows if row.threads == plain.threads), key=lambda row: row.drafts)
    if may_win(last.drafts + 1, drafts) and last.drafts < MOST_DRAFTS and last is _fastest(rows):
        return last.drafts + 1, plain.threads
    best = _fastest([row for row in rows if row.drafts])
    if best is not None and best.speed > CLIFF * plain.speed:
        for count in threads:
            if (best.drafts, count) not in tried:
                return best.drafts, count
    return None


def cliff(rows: Sequence[Row], threads: int) -> str:
    """Why more drafts than the most that were tried at this thread count are hopeless; empty when they are not."""
    here = sorted((row for row in rows if row.threads == threads), key=lambda row: row.drafts)
    if not here or not here[-1].drafts:
        return ""
    last, before = here[-1], here[:-1]
    if last.median is None:
        return "n=%d did not run" % last.drafts
    if (last.acceptance or 0.0) < LEAST_ACCEPTANCE:
        return "n=%d had no draft accepted" % last.drafts
    fastest = max(row.speed for row in before) if before else 0.0
    if last.speed < CLIFF * fastest and last.speed <= before[-1].speed:
        return "n=%d is a cliff (%.0f %% of the fastest)" % (last.drafts, 100 * last.speed / fastest)
    return ""


def may_win(number: int, drafts: Sequence[int]) -> bool:
    """May so many drafts be chosen? drafts: what was asked for; several say that more is welcome too."""
    return number in drafts or (len(drafts) > 2 and number > max(drafts))


def pick(rows: Sequence[Row], drafts: Sequence[int], decided: int) -> Row | None:
    """The simplest of those within MARGIN of the fastest: fewer drafts, then threads nearest to the decided count.

    drafts: what may win; others were only measured to compare with.
    """
    able = [row for row in rows if row.speed and may_win(row.drafts, drafts)]
    if not able:
        return None
    fastest = max(row.speed for row in able)
    near = [row for row in able if row.speed * (1 + MARGIN) >= fastest]
    return min(near, key=lambda row: (row.drafts, abs(row.threads - decided), row.threads))


def judge(rows: Sequence[Row], winner: Row | None, drafts: Sequence[int]) -> None:
    """Write into every row why it was chosen or not."""
    plain = _fastest([row for row in rows if not row.drafts])
    for row in rows:
        if row.median is None or winner is None:
            continue
        share = 100 * (row.speed / winner.speed - 1)
        if row is winner:
            row.why = _praise(row, rows, plain)
        elif not may_win(row.drafts, drafts):
            row.why = "only to compare with: the spec sets engine.mtp"
        elif row.drafts and (row.acceptance or 0.0) < LEAST_ACCEPTANCE:
            row.why = "no draft accepted, %+.0f %%" % share
        elif share > 0:
            row.why = "%+.0f %%, less than the margin of %.0f %%" % (share, 100 * MARGIN)
        else:
            row.why = "%+.0f %%" % share
        if row.same is False:
            row.why += "; its text differs from the plain engine's"


def _praise(row: Row, rows: Sequence[Row], plain: Row | None) -> str:
    fastest = _fastest(rows)
    if fastest is not None and fastest is not row and fastest.speed > row.speed:
        return "chosen: the simplest within %.0f %% of the fastest" % (100 * MARGIN)
    if row.drafts and plain is not None:
        return "chosen: %+.0f %% over MTP off" % (100 * (row.speed / plain.speed - 1))
    return "chosen: the fastest"


def _fastest(rows: Sequence[Row]) -> Row | None:
    return max((row for row in rows if row.speed), key=lambda row: row.speed, default=None)


def median(values: Sequence[float]) -> float:
    """The middle one, of an even number the lower of the two in the middle."""
    return sorted(values)[(len(values) - 1) // 2]


_FLAGS = ("--spec-type", "--spec-draft-n-max", "--spec-draft-p-min")


def choice_in(argv: Sequence[str]) -> Candidate:
    """The candidate that an argument list is."""
    return int(_value(argv, "--spec-draft-n-max") or 0), int(_value(argv, "-t") or 0)


def with_choice(argv: Sequence[str], candidate: Candidate, p_min: str) -> list[str]:
    """The same arguments with another candidate. p_min: least probability of a draft."""
    drafts, threads = candidate
    words: list[str] = []
    place = 0
    while place < len(argv):
        word = argv[place]
        if word in _FLAGS:
            place += 2
        elif word in ("-t", "-tb") and threads:
            # Verifying is a batch, so -tb counts for it, and -t for plain decoding.
            words += [word, str(threads)]
            place += 2
        else:
            words.append(word)
            place += 1
    if drafts:
        # Left out when off, never `none`: values of --spec-type add up.
        words += ["--spec-type", "draft-mtp", "--spec-draft-n-max", str(drafts), "--spec-draft-p-min", p_min]
    return words


def p_min_in(argv: Sequence[str]) -> str | None:
    """--spec-draft-p-min of an argument list."""
    return _value(argv, "--spec-draft-p-min")


def _value(argv: Sequence[str], flag: str) -> str | None:
    return argv[argv.index(flag) + 1] if flag in argv[:-1] else None


def as_json(rows: Sequence[Row], **fields: Any) -> dict[str, Any]:
    """The report as it goes over the console: version, rows, and what else there is to say."""
    return {
        "v": TUNE_VERSION,
        "rows": [{k: v for k, v in vars(row).items() if v is not None} for row in rows],
        **fields,
    }
