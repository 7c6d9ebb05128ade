"""Each failure code comes of a step that is really broken, and `up` says in time which, why and what to do."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from tests.box.failures.lab import CPU_SPEC, GPU_SPEC, Lab, Outcome

pytestmark = pytest.mark.box

Row = Callable[[str, Outcome], None]
_BOOTSTRAP = 5
_WRONG_INPUT = 2

#: A page of this program's memory with the instruction that no CPU knows, and a jump to it.
_UD2 = """import ctypes, mmap
print("load_model: loading model", flush=True)
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(b"\\x0f\\x0b")
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()"""


class Case(NamedTuple):
    """engine: what llama-server does first. phase, code: of the failure. log: is in its log lines. fix: in its hint.

    within: seconds for the phase from its start to its end.
    """

    broken: str
    phase: str
    code: str
    log: str
    fix: str
    engine: str = ""
    sets: tuple[str, ...] = ()
    spec: str = GPU_SPEC
    within: float = 20.0


CASES = [
    Case(
        "the pinned sha256 is another file's",
        "weights", "weights_checksum", "source failed", "model.sha256",
        sets=("model.sha256=" + "ab" * 32,),
    ),
    Case(
        "a build that does not know a flag",
        "engine", "bad_flag", "invalid argument: --no-such-flag", "engine.extra_args",
        engine='set -- "$@" --no-such-flag',
    ),
    Case(
        "a build that has removed a flag",
        "engine", "bad_flag", "the argument has been removed", "engine.extra_args",
        engine='set -- "$@" --draft-max 4',
    ),
    Case(
        "a build for another CPU: it executes ud2",
        "engine", "illegal_instruction", "load_model: loading model", "engine.build",
        engine=f"exec {sys.executable} -c {shlex.quote(_UD2)}",
    ),
    Case(
        "MTP on, the file has no head",
        "engine", "mtp_missing_in_gguf", "MTP", "engine.mtp: off",
        sets=("model.source=modelscope://example/plain", "model.file=plain.gguf", "model.mtp_head=true",
              "engine.mtp=on"),
    ),
    Case(
        "it ends at once, without a word",
        "engine", "engine_exit", "", "engine.extra_args",
        engine="exit 3",
    ),
    Case(
        "it ends at once, with a reason of its own",
        "engine", "engine_exit", "gguf_init_from_file: the file is cursed", "engine.extra_args",
        engine="echo 'gguf_init_from_file: the file is cursed' >&2; exit 1",
    ),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: re.sub(r"\W+", "-", case.broken))
def test_it_is_said(lab: Lab, case: Case, row: Row) -> None:
    stack = lab.stack(f"f{CASES.index(case)}", case.spec, *case.sets)
    if case.engine:
        stack.engine(case.engine)
    with lab.broken(stack) as attempt:
        outcome = attempt.outcome()
    row(case.broken, outcome)
    expect(outcome, case.phase, case.code, case.log, case.fix)
    assert outcome.failed["seconds"] < case.within


def expect(outcome: Outcome, phase: str, code: str, log: str, fix: str) -> None:
    """One failure: in the stream of events and in the error, the same."""
    assert outcome.code == _BOOTSTRAP, outcome.error
    assert (outcome.failed["phase"], outcome.failed["code"]) == (phase, code), outcome.failed
    assert (outcome.error["code"], outcome.error["failure_code"]) == ("bootstrap", code)
    assert outcome.failed["message"] in outcome.error["message"]
    assert outcome.error["log"] == outcome.failed.get("log", [])
    assert log in "\n".join(outcome.error["log"]), outcome.error
    assert fix in outcome.hint, outcome.error


@pytest.mark.parametrize(("flag", "says"), [("--no-such-flag", "does not know"), ("--draft-max", "removed")])
def test_a_flag_that_this_llama_cpp_does_not_take_is_refused_before_anything_is_bought(
    lab: Lab, row: Row, flag: str, says: str
) -> None:
    before = len(lab.sandbox.ask("calls")["calls"])
    outcome = lab.stack("wrong-flag", CPU_SPEC, f"engine.extra_args=[{flag}]").up().outcome()
    row(f"engine.extra_args has {flag}", outcome)
    assert outcome.code == _WRONG_INPUT
    assert flag in outcome.error["message"] and says in outcome.error["message"], outcome.error
    assert len(lab.sandbox.ask("calls")["calls"]) == before
