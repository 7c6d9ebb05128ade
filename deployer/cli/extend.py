"""`deployer extend`: a later end for a stack with a time to live."""

from __future__ import annotations

from datetime import UTC, datetime

import click

from deployer.cli.options import aws_options, json_option, lock_wait_option, make_settings, seconds_in
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import interruptible, open_view
from deployer.errors import RefusedError, UsageError
from deployer.events import Event


@click.command()
@click.argument("words", nargs=-1, metavar="[STACK|SPEC] [DURATION]")
@click.option("--until", metavar="TIME", help="A moment instead of a duration: 2026-12-24T18:00 (local), …Z (UTC).")
@lock_wait_option
@aws_options
@json_option
def extend(
    words: tuple[str, ...],
    until: str | None,
    lock_wait: float,
    region: str | None,
    profile: str | None,
    *,
    as_json: bool,
) -> None:
    """Let a stack with a time to live or an idle time run longer, without touching what serves.

    \b
    deployer extend 4h
    deployer extend g5-27b-mtp 90m
    deployer extend g5-27b-mtp --until 2026-12-24T18:00

    The end moves in the account: before the instance ends itself, it looks there and goes on if the end is later. A
    stack with lifetime.idle is kept for so long from now on, though nobody asks anything.
    """  # noqa: D301 - click reads a real \b
    stack, by = _meant(words, until)
    moment = _moment(until) if until is not None else None
    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        place = chosen_stack(settings, view, stack, lock_wait=lock_wait)
        from deployer.targets.ec2 import Ec2Target

        if not isinstance(place.target, Ec2Target):
            raise RefusedError(f"{place.stack} runs on this machine and has no end", where=place.stack)
        with interruptible("interrupted while the end was moved", f"deployer extend {place.stack} … again"):
            done = place.target.extend(place.stack, by=by, until=moment)
        ends = (("runs until", done.expires_at), ("is kept without a request until", done.keep_until))
        said = [f"{words} {_shown(at)}" for words, at in ends if at is not None]
        text = f"{done.stack} {' and '.join(said)}"
        view.show(Event("extended", vars(done)) if as_json else Event("text", {"text": text}))


def _meant(words: tuple[str, ...], until: str | None) -> tuple[str | None, float | None]:
    """Stack and seconds. Raises UsageError when the words do not say one of them once."""
    hint = "deployer extend [STACK] 4h, or deployer extend [STACK] --until 2026-12-24T18:00"
    if until is not None:
        if len(words) > 1:
            raise UsageError("both a duration and --until were given", hint=hint)
        return (words[0] if words else None), None
    match words:
        case (duration,) if seconds_in(duration) is not None:
            return None, seconds_in(duration)
        case (stack, duration) if seconds_in(duration) is not None:
            return stack, seconds_in(duration)
        case (_, duration):
            raise UsageError(f"{duration!r} is no duration; write a number and a unit: 90m, 4h, 2d", hint=hint)
        case _:
            raise UsageError("it is not said how much longer", hint=hint)


def _shown(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _moment(text: str) -> float:
    try:
        return datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()
    except ValueError:
        raise UsageError(f"{text!r} is no time", where="--until", hint="2026-12-24T18:00, or with Z for UTC") from None
