"""The image's first run: it loads a real model and answers. `--version` proves nothing: a build for another CPU
prints it and dies of an illegal instruction when it loads a model.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from deployer.agent.containers import USER_ID
from deployer.clock import Clock
from deployer.engine.gguf import GgufError, read_header
from deployer.errors import UsageError
from deployer.events import Emit, Event, Json
from deployer.images.build import BuildFailed
from deployer.images.builder import Builder
from deployer.images.commands import Done, run
from deployer.images.recipe import Recipe

Execute = Callable[[Sequence[str]], Done]

_PORT = 18080
_MODEL = "/model.gguf"
_POLL_SECONDS = 0.5
#: A tiny model loads in a second; under emulation in a minute.
DEADLINE_SECONDS = 300.0
_TOKENS = 16
#: A process killed by SIGILL, as a shell and docker count.
_ILLEGAL_INSTRUCTION = 132


def smoke_test(
    recipe: Recipe,
    builder: Builder,
    model: Path,
    *,
    clock: Clock,
    emit: Emit,
    execute: Execute = run,
    seen_as: Path | None = None,
) -> dict[str, Json]:
    """Start, load, answer, end; what was measured. Raises BuildFailed with the engine's last lines.

    execute: runs a command where the builder is. seen_as: where the model lies there.
    """
    drafts = has_mtp_head(model)
    name = f"deployer-smoke-{os.getpid()}"
    container = _Container(builder, name, execute)
    argv = start_command(recipe, builder, name, seen_as or model.resolve(), drafts=drafts)
    try:
        started = execute(argv)
        if started.code:
            raise BuildFailed(f"{recipe.name} cannot be started:\n{started.text}", where="smoke test")
        answer = _ask(container, clock, emit)
    finally:
        execute([builder.program, "rm", "--force", name])
    timings = answer.get("timings") or {}
    shown: dict[str, Json] = {"text": str(answer.get("content", ""))}
    shown |= {key: timings.get(key) for key in ("predicted_per_second", "draft_n", "draft_n_accepted")}
    if not timings.get("predicted_n"):
        raise BuildFailed(f"{recipe.name} answered without a token: {json.dumps(answer)[:300]}", where="smoke test")
    if drafts and not timings.get("draft_n_accepted"):
        raise BuildFailed(f"{recipe.name} answers, but none of its MTP drafts was accepted", where="smoke test")
    emit(Event("completion", shown))
    return shown


def has_mtp_head(model: Path) -> bool:
    """Whether drafting is to be tried too. Raises UsageError for a file that is no GGUF."""
    try:
        with model.open("rb") as stream:
            return read_header(stream).has_mtp_head
    except (OSError, GgufError) as error:
        raise UsageError(f"{model}: {error}", where="--model", hint="any small GGUF will do") from None


def start_command(recipe: Recipe, builder: Builder, name: str, model: Path, *, drafts: bool) -> list[str]:
    """As the agent runs it, but on no network at all. drafts: the model has an MTP head to be tried too."""
    options = ["run", "--detach", "--name", name, "--network", "none", "--user", f"{USER_ID}:{USER_ID}"]
    options += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
    options += ["--mount", f"type=bind,readonly,src={model},dst={_MODEL}"]
    options += ["--gpus", "all"] if recipe.build.name == "cuda" else []
    engine = ["--host", "127.0.0.1", "--port", str(_PORT), "-m", _MODEL, "-c", "1024", "-np", "1", "--no-ui"]
    engine += ["-ngl", "99"] if recipe.build.name == "cuda" else []
    engine += ["--spec-type", "draft-mtp", "--spec-draft-n-max", "2"] if drafts else []
    return [builder.program, *options, recipe.name, *engine]


class _Container:
    def __init__(self, builder: Builder, name: str, execute: Execute) -> None:
        self._program = builder.program
        self._name = name
        self._execute = execute

    def curl(self, path: str, *words: str) -> str | None:
        """The answer of the engine inside; None while there is none."""
        url = f"http://127.0.0.1:{_PORT}{path}"
        done = self._execute([self._program, "exec", self._name, "curl", "--fail", "--silent", *words, url])
        return done.text if done.code == 0 else None

    def ended(self) -> int | None:
        """Its exit code, None while it runs."""
        done = self._execute(
            [self._program, "inspect", "--format", "{{.State.Running}} {{.State.ExitCode}}", self._name]
        )
        running, _, code = done.text.strip().partition(" ")
        return None if running == "true" else int(code or 1)

    def log(self) -> str:
        """The engine's last lines."""
        return self._execute([self._program, "logs", self._name]).text


def _ask(container: _Container, clock: Clock, emit: Emit) -> dict[str, Any]:
    deadline = clock.monotonic() + DEADLINE_SECONDS
    while container.curl("/health") is None:
        code = container.ended()
        if code is not None:
            raise BuildFailed(_why(code, container.log()), where="smoke test", hint=_hint(code))
        if clock.monotonic() > deadline:
            raise BuildFailed(f"the model was not loaded in time:\n{container.log()}", where="smoke test")
        emit(Event("waiting", {"what": "the image to load the model", "observation": "", "seconds": None}))
        clock.sleep(_POLL_SECONDS)
    question = json.dumps({"prompt": "Hello", "n_predict": _TOKENS, "temperature": 0})
    answer = container.curl("/completion", "--data", question)
    if answer is None:
        raise BuildFailed(f"no completion came back:\n{container.log()}", where="smoke test")
    found: dict[str, Any] = json.loads(answer)
    return found


def _why(code: int, log: str) -> str:
    what = "illegal instruction: " if code == _ILLEGAL_INSTRUCTION else ""
    return f"llama-server ended with exit code {code} while loading ({what}see its last lines):\n{log}"


def _hint(code: int) -> str | None:
    if code != _ILLEGAL_INSTRUCTION:
        return None
    return "this CPU lacks what the build uses: run the test on the instance type itself, or leave --model out"
