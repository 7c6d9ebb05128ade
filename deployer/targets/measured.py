"""After the ladder: which measured choice the machine runs with, for the record, and what to say of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from deployer.decide.measured import decided_by
from deployer.engine.tuned import parse_choice
from deployer.events import Emit, Event
from deployer.health.agent import AgentFacts


def in_effect(before: Mapping[str, Any] | None, facts: AgentFacts | None, emit: Emit) -> dict[str, Any] | None:
    """The choice as the agent's `ready` line tells it; `before` (the record's) when nobody saw that line.

    Says what was measured, and when an earlier choice does not hold any more.
    """
    old = parse_choice(before)
    if facts is None or not facts.ready:
        return dict(before) if before else None
    if facts.tuning is not None:
        emit(Event("tuned", facts.tuning.document()))
    tuned = facts.ready.get("tuned")
    choice = parse_choice(tuned)
    if choice is None:
        if old is not None:
            message = f"{old.told} was measured on another machine, engine, model or setting and does not count here"
            emit(Event("warning", {"message": message, "hint": "`deployer tune` measures again"}))
        return None
    for decision in decided_by(choice):
        fields = {"name": decision.name, "value": decision.value, "reason": decision.reason}
        emit(Event("decision", {**fields, "source": decision.source}))
    return dict(tuned) if isinstance(tuned, Mapping) else None
