"""What the machine measured of itself stands before the rule: the decisions and arguments as they are in use. Pure."""

from __future__ import annotations

import time
from dataclasses import replace

from deployer.agent.tuning import with_choice
from deployer.decide.types import Decision, Deployment, MtpChoice
from deployer.engine.tuned import MeasuredChoice

SOURCE = "measured here"


def decided_by(choice: MeasuredChoice) -> tuple[Decision, ...]:
    """The Decisions of a measurement: MTP, and the threads where they were measured."""
    day = time.strftime("%Y-%m-%d", time.gmtime(choice.at))
    gain = f"{choice.tok_s:.1f} tok/s"
    if choice.drafts:
        gain += f" with {choice.drafts} draft(s), {choice.plain_tok_s or 0.0:.1f} without MTP"
    why = f"on this machine, {day}: {gain}"
    value = f"on, n={choice.drafts}" if choice.drafts else "off"
    again = "deployer tune measures again"
    mtp = Decision("mtp", value, why, SOURCE, again)
    return (mtp, Decision("threads", choice.threads, why, SOURCE, again)) if choice.threads else (mtp,)


def with_measured(deployment: Deployment, choice: MeasuredChoice, *, stays: bool) -> Deployment:
    """As a person should see it. stays: the machine that measured goes on, else its choice is only told of.

    Never for what is launched: the machine itself applies its choice, so that it is no difference to the spec.
    """
    if not stays:
        note = f". An earlier measurement here chose {choice.told}; the machine says whether that still holds"
        told = [replace(d, reason=d.reason + note) if d.name == "mtp" else d for d in deployment.decisions]
        return replace(deployment, decisions=tuple(told))
    known = {decision.name: decision for decision in decided_by(choice)}
    engine = deployment.engine
    p_min = engine.mtp.draft_p_min
    return replace(
        deployment,
        decisions=tuple(known.get(decision.name, decision) for decision in deployment.decisions),
        engine=replace(
            engine,
            argv=tuple(with_choice(engine.argv, (choice.drafts, choice.threads), str(p_min))),
            threads=choice.threads or engine.threads,
            mtp=MtpChoice(choice.drafts > 0, choice.drafts, p_min),
        ),
    )
