"""The way of one benchmark: warm up, then every case so many times."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime

from deployer.clock import Clock
from deployer.errors import NotHealthyError, RefusedError
from deployer.events import Emit, Event
from deployer.measure.asking import Asker, CannotMeasure
from deployer.measure.cases import Case, Wishes, cases, long_prompt
from deployer.measure.numbers import Round, numbers_of
from deployer.measure.result import Predicted, Result, Row

_WARM_UP_TOKENS = 16


def chosen_model(asker: Asker, wanted: str | None) -> str:
    """The model to ask: the wanted one, or the only one. Raises RefusedError naming what is served."""
    served = asker.models()
    if wanted is None and len(served) == 1:
        return served[0]
    if wanted is not None and wanted in served:
        return wanted
    names = ", ".join(served) or "none"
    raise RefusedError(
        f"the endpoint serves {names}" + (f", not {wanted}" if wanted else ""), hint="--model NAME names one of them"
    )


def run(
    asker: Asker, subject: str, model: str, wishes: Wishes, clock: Clock, emit: Emit, predicted: Predicted | None = None
) -> Result:
    """Measure everything. Ctrl-C, or an endpoint that goes away, ends it with what there is until then.

    Raises what the very first request raises: then there is nothing to tell.
    """
    began = datetime.fromtimestamp(clock.now(), UTC).isoformat(timespec="seconds")
    rows: list[Row] = []
    ended: str | None = None
    # The engine allocates, loads pages and chooses kernels at its first work; nobody waits for that a second time.
    asker.ask(model, "Say hello.", _WARM_UP_TOKENS)
    todo = _of_exact_length(cases(wishes), asker)
    try:
        for number, case in enumerate(todo, 1):
            emit(Event("bench.case", {"name": case.name, "kind": case.kind, "number": number, "of": len(todo)}))
            rows.append(_measure(asker, model, case, wishes.runs, clock))
    except KeyboardInterrupt:
        ended = "interrupted"
        emit(Event("warning", {"message": "interrupted: this is what was measured until then"}))
    except (NotHealthyError, RefusedError) as error:
        if not rows:
            raise
        ended = error.message
        message = f"{error.message}: this is what was measured until then"
        emit(Event("warning", {"message": message, "hint": error.hint}))
    return Result(subject, model, began, wishes.runs, wishes.max_tokens, tuple(rows), predicted, ended)


def _of_exact_length(todo: Sequence[Case], asker: Asker) -> list[Case]:
    """The long prompts cut to their length by the engine's own tokenizer, where it tells."""
    exact = []
    for case in todo:
        counted = asker.count_tokens(case.prompts[0]) if case.prompt_tokens else None
        if counted and case.prompt_tokens:
            per_token = len(case.prompts[0]) / counted
            case = replace(case, prompts=(long_prompt(case.prompt_tokens, per_token),))
        exact.append(case)
    return exact


def _measure(asker: Asker, model: str, case: Case, runs: int, clock: Clock) -> Row:
    try:
        rounds = [_round(asker, model, case, clock) for _ in range(runs)]
    except CannotMeasure as why:
        return Row(case.kind, case.name, case.concurrency, None, str(why))
    return Row(case.kind, case.name, case.concurrency, numbers_of(rounds))


def _round(asker: Asker, model: str, case: Case, clock: Clock) -> Round:
    """All requests of the case at once."""
    began = clock.monotonic()
    if case.concurrency == 1:
        answers = [asker.ask(model, case.prompts[0], case.max_tokens)]
    else:
        with ThreadPoolExecutor(case.concurrency) as pool:
            waiting = [pool.submit(asker.ask, model, prompt, case.max_tokens) for prompt in case.prompts]
            try:
                answers = [one.result() for one in waiting]
            except KeyboardInterrupt:
                # Without its connections no thread has anything to wait for.
                asker.close()
                raise
    return Round(tuple(answers), clock.monotonic() - began)
