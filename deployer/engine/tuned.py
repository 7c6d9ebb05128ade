"""What a machine measured of itself, as typed values: the agent's report and the choice that came of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

from deployer.agent.tuning import TUNE_VERSION, name_of

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@dataclass(frozen=True)
class MeasuredChoice:
    """drafts: tokens drafted for one step, 0 = MTP off. threads: 0 = the engine's own. Speeds in tokens/s.

    plain_tok_s: the fastest without MTP. at: seconds since the epoch.
    """

    drafts: int
    threads: int
    tok_s: float
    plain_tok_s: float | None = None
    acceptance: float | None = None
    at: float = 0.0

    @property
    def name(self) -> str:
        """For people: `MTP n=2, 4 threads`."""
        return name_of((self.drafts, self.threads))

    @property
    def told(self) -> str:
        """The choice with its numbers."""
        if not self.drafts:
            return f"{self.name} ({self.tok_s:.1f} tok/s)"
        return f"{self.name} ({self.tok_s:.1f} tok/s, without MTP {self.plain_tok_s or 0.0:.1f})"


@dataclass(frozen=True)
class TriedCandidate:
    """One row of the table; see agent.tuning.Row."""

    drafts: int
    threads: int
    median: float | None = None
    low: float | None = None
    high: float | None = None
    acceptance: float | None = None
    same: bool | None = None
    why: str = ""

    @property
    def name(self) -> str:
        """For people."""
        return name_of((self.drafts, self.threads))


@dataclass(frozen=True)
class TuneReport:
    """id: of the request, None on a first boot. chosen: None when nothing ran or it was cancelled.

    applied: the choice is written down on the machine and in use. ended: why not everything was tried, or empty.
    """

    rows: tuple[TriedCandidate, ...]
    id: str | None = None
    chosen: MeasuredChoice | None = None
    applied: bool = False
    margin: float = 0.0
    ended: str = ""
    requests: int = 0
    seconds: float = 0.0

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            **asdict(self),
            "rows": [{"name": row.name, **asdict(row)} for row in self.rows],
            "chosen": self.chosen and {"name": self.chosen.name, **asdict(self.chosen)},
        }


def parse_choice(body: object) -> MeasuredChoice | None:
    """From a record or a console line; None for what is none."""
    if not isinstance(body, Mapping):
        return None
    try:
        return MeasuredChoice(**_known(MeasuredChoice, body))
    except TypeError:
        return None


def parse_report(body: Mapping[str, Any]) -> TuneReport | None:
    """From the detail of the agent's `tuning` line; None for what is none, or of another version."""
    rows = body.get("rows")
    if body.get("v") != TUNE_VERSION or not isinstance(rows, list):
        return None
    try:
        tried = tuple(TriedCandidate(**_known(TriedCandidate, row)) for row in rows)
        known = {**_known(TuneReport, body), "rows": tried, "chosen": parse_choice(body.get("chosen"))}
        return TuneReport(**known)
    except (TypeError, AttributeError):
        return None


def _known(kind: type[DataclassInstance], body: Mapping[str, Any]) -> dict[str, Any]:
    names = {field.name for field in fields(kind)}
    return {name: value for name, value in body.items() if name in names}
