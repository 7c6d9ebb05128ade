"""One rehearsal: the product's own commands from `plan` to `down` against a private sandbox, then the leak check.

Events: `rehearsal.start`, `rehearsal.substitutions`, `rehearsal.phase` (name, state start|done|failed, seconds,
message), the product's own events with `during` (the phase) and `t` (seconds since the start), and last of all
`rehearsal.summary`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from deployer.clock import Clock
from deployer.decide.types import Deployment
from deployer.errors import DeployerError
from deployer.events import Emit, Event, Json
from deployer.rehearsal import chat, leaks, stage
from deployer.rehearsal.product import Outcome, StepFailed
from deployer.rehearsal.stage import Stage


@dataclass
class _Findings:
    """What the summary tells. None: that step was not reached."""

    answer: chat.Answer | None = None
    second_up_changes: int | None = None
    aws_calls: int | None = None
    leaks: list[str] | None = None
    substitutions: tuple[str, ...] = ()
    phases: list[dict[str, Json]] = field(default_factory=list)


class Rehearsal:
    """spec: the file. deployment: what it decides to, which tells what the rehearsal must see (MTP or not)."""

    def __init__(
        self, spec: Path, deployment: Deployment, clock: Clock, emit: Emit, *, arguments: tuple[str, ...] = ()
    ):
        self._spec = spec
        self._deployment = deployment
        self._name = deployment.spec.name
        self._clock = clock
        self._out = emit
        self._arguments = arguments
        self._began = clock.monotonic()
        self._phase = ""
        self._found = _Findings()
        self._is_up = False

    def run(self, *, machines: str, keep: bool, environ: Mapping[str, str]) -> None:
        """Run it all and emit the summary. Raises the failure of the first step that failed, after tearing down.

        keep: leave the temporary directory (state, logs, consoles) in place.
        """
        self._emit("rehearsal.start", spec=str(self._spec), stack=self._name, machines=machines)
        failure: BaseException | None = None
        try:
            with ExitStack() as teardown:
                with self._in_phase("sandbox") as note:
                    built = stage.build(target=self._deployment.spec.target, machines=machines, own_environ=environ)
                    teardown.callback(built.strike, keep=keep)
                    note.append(built.info.url)
                self._found.substitutions = built.substitutions
                self._emit("rehearsal.substitutions", substitutions=list(built.substitutions))
                failure = self._acts(built)
        except (DeployerError, KeyboardInterrupt) as error:
            failure = error
        self._summarise(failure, str(built.directory) if keep else None)
        if failure is not None:
            raise failure

    def _acts(self, built: Stage) -> BaseException | None:
        """Up and down again; down and the leak check also after a failure. Returns the first failure."""
        failure: BaseException | None = None
        for act in (self._up, self._down, self._check_leaks):
            if isinstance(failure, KeyboardInterrupt) and self._deployment.partition is not None:
                # Striking the stage ends the machines; waiting for a tidy `down` is not what Ctrl-C asks for.
                break
            try:
                act(built)
            except (DeployerError, KeyboardInterrupt) as error:
                failure = failure or error
        return failure

    def _up(self, built: Stage) -> None:
        with self._in_phase("plan") as note:
            plan = self._run(built, "plan", str(self._spec), *self._arguments).objects[-1]
            note.append(f"{len(plan['decisions'])} decisions, {len(plan['steps'])} steps")
        with self._in_phase("up") as note:
            self._is_up = True
            summary = self._run(built, "up", str(self._spec), *self._arguments).last("up.summary")
            note.append(f"{summary.get('changes')} changes")
        with self._in_phase("completion") as note:
            self._found.answer = self._complete(built)
            note.append(_spoken(self._found.answer))
        with self._in_phase("second up") as note:
            again = self._run(built, "up", str(self._spec), *self._arguments).last("up.summary")
            changes = again.get("changes")
            self._found.second_up_changes = changes if isinstance(changes, int) else None
            if changes != 0:
                raise StepFailed(f"a second up made {changes} changes", exit_code=1, where="deployer up")
            note.append("0 changes")
        with self._in_phase("status") as note:
            status = self._run(built, "status", self._name).objects[-1]
            note.append(str(status.get("phase")))

    def _complete(self, built: Stage) -> chat.Answer:
        alias = self._deployment.engine.alias
        with ThreadPoolExecutor(1) as beside, ExitStack() as held:
            exports = beside.submit(self._run, built, "env", self._name)
            opened = held.enter_context(built.product.held_open("tunnel", self._name, "--port", "0"))
            key = str(exports.result().objects[-1]["OPENAI_API_KEY"])
            url = str(opened["url"])
            if not chat.is_refused_without_key(url, alias):
                raise StepFailed("the endpoint answers without its key", exit_code=6, where=url)
            answer = chat.ask(url, alias, key)
        if self._deployment.spec.engine.tune == "on-first-boot":
            # The machine itself has decided.
            return answer
        wanted = self._deployment.engine.mtp.enabled
        if wanted and not answer.draft_n_accepted:
            raise StepFailed("MTP is on, but no draft was accepted", exit_code=6, where=url)
        if not wanted and answer.draft_n:
            raise StepFailed("MTP is off, but the engine made drafts", exit_code=6, where=url)
        return answer

    def _down(self, built: Stage) -> None:
        if not self._is_up:
            return
        with self._in_phase("down") as note:
            summary = self._run(built, "down", self._name).last("down.summary")
            deleted = summary.get("deleted")
            note.append(f"{len(deleted) if isinstance(deleted, list) else 0} resources deleted")

    def _check_leaks(self, built: Stage) -> None:
        with self._in_phase("leak check") as note:
            self._found.aws_calls = leaks.count_calls(built)
            self._found.leaks = leaks.find(built, local=self._deployment.partition is None)
            if self._found.leaks:
                raise StepFailed(f"left behind: {', '.join(self._found.leaks)}", exit_code=7, where="leak check")
            note.append(f"nothing left, {self._found.aws_calls} AWS calls")

    def _run(self, built: Stage, *arguments: str) -> Outcome:
        return built.product.run(*arguments, on_object=self._pass_on).require()

    def _pass_on(self, body: dict[str, Any]) -> None:
        name = body.get("event")
        if isinstance(name, str):
            self._emit(name, **{k: v for k, v in body.items() if k != "event"}, during=self._phase)

    @contextmanager
    def _in_phase(self, name: str) -> Iterator[list[str]]:
        """Time a phase; what is appended to the list is its message."""
        self._phase = name
        began = self._clock.monotonic()
        self._emit("rehearsal.phase", name=name, state="start")
        note: list[str] = []
        state = "failed"
        try:
            yield note
            state = "done"
        except DeployerError as error:
            note[:] = [error.message]
            raise
        finally:
            seconds = round(self._clock.monotonic() - began, 3)
            self._found.phases.append({"name": name, "seconds": seconds})
            self._emit("rehearsal.phase", name=name, state=state, seconds=seconds, message="; ".join(note) or None)

    def _emit(self, event: str, /, **fields: Json) -> None:
        self._out(Event(event, {**fields, "t": round(self._clock.monotonic() - self._began, 3)}))

    def _summarise(self, failure: BaseException | None, kept: str | None) -> None:
        found = self._found
        answer = found.answer
        drafts: dict[str, Json] = {}
        if answer is not None and answer.draft_n is not None:
            drafts = {"draft_n": answer.draft_n, "draft_n_accepted": answer.draft_n_accepted}
        summary: dict[str, Json] = {
            "stack": self._name,
            "ok": failure is None,
            "completion": answer.text if answer else None,
            **drafts,
            "second_up_changes": found.second_up_changes,
            "aws_calls": found.aws_calls,
            "leaks": list(found.leaks) if found.leaks is not None else None,
            "phases": list(found.phases),
            "seconds": round(self._clock.monotonic() - self._began, 3),
            "substitutions": list(found.substitutions),
        }
        if kept:
            summary["kept"] = kept
        self._out(Event("rehearsal.summary", summary))


def _spoken(answer: chat.Answer) -> str:
    if not answer.draft_n:
        return "answered"
    return f"answered, {answer.draft_n_accepted} of {answer.draft_n} drafts accepted"
