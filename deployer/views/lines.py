"""One event as one line of text: a mark, the words and how to colour them. Pure; both human views use it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from deployer.events import Event, Json
from deployer.views.units import duration, shortened, size

Mark = Literal["busy", "done", "skip", "warn", "fail", "info"]

SYMBOLS: dict[Mark, str] = {"busy": "…", "done": "✔", "skip": "·", "warn": "!", "fail": "✘", "info": "→"}
COLOURS: dict[Mark, str] = {
    "busy": "cyan",
    "done": "green",
    "skip": "bright_black",
    "warn": "yellow",
    "fail": "red",
    "info": "blue",
}

Fields = Mapping[str, Json]

#: Longest shown line of a container builder, in characters.
_BUILDER_WIDTH = 110
#: What takes less is not worth a number.
_NO_TIME_SECONDS = 0.05


@dataclass(frozen=True)
class Line:
    """key: two lines with the same key are about the same thing, the later one replaces the earlier in a live view."""

    mark: Mark
    text: str
    key: str
    more: tuple[str, ...] = ()


def line_of(event: Event) -> Line | None:
    """The line for an event, None for events that people need not see."""
    fields = event.fields
    match event.name:
        case "decision":
            return None
        case "step.start" | "step.done":
            return _step(event.name, fields)
        case "attempt":
            return _attempt(fields)
        case "phase":
            return _phase(fields)
        case "probe":
            return _probe(fields)
        case "waiting":
            return _waiting(fields)
        case "warning":
            return Line("warn", _text(fields, "message"), f"warning {_text(fields, 'message')}", _hint(fields))
        case "image.line":
            return Line("busy", shortened(_text(fields, "line"), _BUILDER_WIDTH), "image")
        case "image.repository":
            state = "created" if fields.get("made") else "exists"
            return Line("done", f"repository {_text(fields, 'uri')} {state}", "image.repository")
        case "image.blob":
            done = "is there" if fields.get("there") else f"copying {size(_number(fields, 'size_bytes') or 0)}"
            return Line("busy", f"layer {_text(fields, 'digest')[:19]} {done}", "image.blob")
        case "completion":
            return _completion(fields)
        case "endpoint":
            where = _text(fields, "url") or "the loopback of its machine, through a tunnel"
            pinned = f", certificate SHA-256 {pin}" if (pin := fields.get("certificate_sha256")) else ""
            return Line("info", f"{_text(fields, 'alias')} answers at {where}{pinned}", "endpoint")
        case "tunnel":
            until = " until Ctrl-C" if fields.get("needed") else ", no tunnel needed"
            return Line("info", f"{_text(fields, 'stack')}: {_text(fields, 'url')}{until}", "tunnel")
        case "spent":
            return _spent(fields)
        case "bench.case":
            where = f"({_text(fields, 'number')} of {_text(fields, 'of')})"
            return Line("busy", f"measuring {_text(fields, 'name')} {where}", "bench")
        case "tuned":
            return _tuned(fields)
        case "up.summary":
            return _up(fields)
        case "sweep.summary":
            return _swept(fields)
        case "down.summary":
            return _down(fields)
        case name if name.startswith("rehearsal."):
            return _rehearsal(name, fields)
        case _:
            return None


def _text(fields: Fields, name: str) -> str:
    value = fields.get(name)
    return "" if value is None else str(value)


def _number(fields: Fields, name: str) -> float | None:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) else None


def _swept(fields: Fields) -> Line:
    deleted, failed = fields.get("deleted"), fields.get("failed")
    names = ", ".join(str(one) for one in deleted) if isinstance(deleted, list) and deleted else "nothing"
    wrong = tuple(str(one) for one in failed) if isinstance(failed, list) else ()
    return Line("fail" if wrong else "done", f"swept {names} in {_text(fields, 'region')}", "sweep", wrong)


def _took(fields: Fields) -> str:
    seconds = _number(fields, "seconds")
    return "" if seconds is None or seconds < _NO_TIME_SECONDS else f"  {duration(seconds)}"


def _hint(fields: Fields) -> tuple[str, ...]:
    return (f"hint: {_text(fields, 'hint')}",) if fields.get("hint") else ()


def _step(name: str, fields: Fields) -> Line:
    action, kind, resource = _text(fields, "action"), _text(fields, "kind"), _text(fields, "name")
    key = f"step {kind} {resource}"
    if name == "step.start":
        return Line("busy", f"{action} {kind} {resource}", key)
    if action == "keep":
        return Line("skip", f"{kind} {resource} kept", key)
    identity = _text(fields, "id")
    shown = f" ({identity})" if identity and identity != resource else ""
    return Line("done", f"{action} {kind} {resource}{shown}{_took(fields)}", key)


def _attempt(fields: Fields) -> Line:
    where = " ".join(_text(fields, k) for k in ("instance_type", "market", "zone") if fields.get(k))
    outcome = _text(fields, "outcome")
    answer = _text(fields, "aws_code")
    said = f": {answer} {_text(fields, 'message')}".rstrip() if answer else ""
    return Line("warn" if answer else "done", f"{where} {outcome}{said}", f"attempt {where}")


def _phase(fields: Fields) -> Line:
    phase, state = _text(fields, "phase"), _text(fields, "state")
    key = f"phase {phase}"
    match state:
        case "done":
            return Line("done", f"{phase}{_bytes(fields)}{_took(fields)}", key)
        case "skipped":
            return Line("skip", f"{phase} not needed{_because(fields)}", key)
        case "failed":
            code = _text(fields, "code")
            log = fields.get("log")
            more = tuple(str(entry) for entry in log) if isinstance(log, list) else ()
            return Line("fail", f"{phase} failed: {code} {_text(fields, 'message')}".rstrip(), key, more)
        case "restarting":
            return Line("warn", f"{phase} restarting{_because(fields)}", key)
        case _:
            percent = _number(fields, "percent")
            shown = f" {percent:.0f} %" if percent is not None else ""
            return Line("busy", f"{phase}{shown}{_bytes(fields)}{_because(fields)}", key)


def _because(fields: Fields) -> str:
    message = _text(fields, "message")
    return f": {message}" if message else ""


def _bytes(fields: Fields) -> str:
    done, total = _number(fields, "bytes"), _number(fields, "total_bytes")
    if done is None:
        return ""
    return f" {size(done)}" if not total or total == done else f" {size(done)} of {size(total)}"


_PROBE_MARKS: dict[str, Mark] = {
    "waiting": "busy",
    "passed": "done",
    "warned": "warn",
    "failed": "fail",
    "skipped": "skip",
}


def _probe(fields: Fields) -> Line:
    rung, state = _text(fields, "rung"), _text(fields, "state")
    said = _text(fields, "observation")
    took = _took(fields) if state != "waiting" else ""
    return Line(_PROBE_MARKS.get(state, "info"), f"{rung}: {said}{took}", f"probe {rung}")


def _waiting(fields: Fields) -> Line:
    what, said = _text(fields, "what"), _text(fields, "observation")
    limit = _number(fields, "deadline_seconds")
    until = f", gives up after {duration(limit)}" if limit is not None else ""
    return Line("busy", f"waiting for {what}{f': {said}' if said else ''}{until}", f"waiting {what}")


def _completion(fields: Fields) -> Line:
    speed, drafts = _number(fields, "predicted_per_second"), _number(fields, "draft_n")
    said = f"the model says {shortened(_text(fields, 'text'), 60)!r}"
    if speed is not None:
        said += f", {speed:.0f} tok/s"
    if drafts:
        said += f", {_text(fields, 'draft_n_accepted')} of {drafts:.0f} drafts accepted"
    return Line("done", said, "completion")


def _tuned(fields: Fields) -> Line:
    """What the machine measured of itself while it was brought up."""
    rows, chosen = fields.get("rows"), fields.get("chosen")
    tried = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    more = tuple(f"{_text(row, 'name')}: {_number(row, 'median') or 0:.1f} tok/s, {_text(row, 'why')}" for row in tried)
    name = _text(chosen, "name") if isinstance(chosen, dict) else "nothing, the engine runs as decided"
    return Line("info", f"measured here: {name}", "tuned", more)


def _up(fields: Fields) -> Line:
    changes = _number(fields, "changes") or 0
    if not changes:
        return Line("done", f"{_text(fields, 'stack')} is up, nothing to change{_took(fields)}", "summary")
    plural = "s" if changes != 1 else ""
    return Line("done", f"{_text(fields, 'stack')} is up, {changes:.0f} change{plural}{_took(fields)}", "summary")


def _spent(fields: Fields) -> Line:
    hours, tokens, each = (_number(fields, name) for name in ("hours", "tokens", "per_million_tokens"))
    amount, currency = _number(fields, "amount"), _text(fields, "currency")
    text = f"{_text(fields, 'stack')} ran {duration((hours or 0.0) * 3600)}"
    if amount is not None:
        text += f", about {currency} {amount:,.2f} for the instance"
    elif fields.get("priced"):
        text += ", at an unknown price"
    if tokens is not None:
        text += f", {tokens:,.0f} tokens since its engine started" + (
            f", {currency} {each:,.2f} per million" if each is not None else ""
        )
    return Line("info", text, "spent", (_text(fields, "source"),) if amount is not None else ())


def _down(fields: Fields) -> Line:
    stack = _text(fields, "stack")
    deleted, remaining = fields.get("deleted"), fields.get("remaining")
    if isinstance(remaining, list) and remaining:
        return Line("fail", f"{stack}: still there", "summary", tuple(str(r) for r in remaining))
    if not stack:
        return Line("skip", "nothing to take away", "summary")
    if isinstance(deleted, list) and deleted:
        return Line("done", f"{stack} is gone, {len(deleted)} resources deleted{_took(fields)}", "summary")
    return Line("skip", f"{stack}: nothing of it exists", "summary")


def _rehearsal(name: str, fields: Fields) -> Line | None:
    match name:
        case "rehearsal.start":
            return Line("info", f"rehearsing {_text(fields, 'spec')} in an embedded AWS", name)
        case "rehearsal.phase":
            marks: dict[str, Mark] = {"start": "busy", "done": "done", "failed": "fail"}
            state = _text(fields, "state")
            said = _text(fields, "message")
            text = f"{_text(fields, 'name')}{f': {said}' if said else ''}{_took(fields)}"
            return Line(marks.get(state, "info"), text, f"rehearsal {_text(fields, 'name')}")
        case _:
            return None
