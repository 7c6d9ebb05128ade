"""`deployer chat`: a first word with a stack's model, in a terminal or as a filter."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

import click

from deployer.access.conversation import Conversation, Measure
from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.errors import DeployerError, InterruptedByUser, UsageError
from deployer.events import Event
from deployer.views.base import View

_DIM, _PLAIN = "\x1b[2m", "\x1b[0m"


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.argument("prompt", required=False)
@click.option("--max-tokens", type=click.IntRange(1), metavar="N", help="Longest answer; left out, the model decides.")
@aws_options
@json_option
def chat(
    stack: str | None,
    prompt: str | None,
    max_tokens: int | None,
    region: str | None,
    profile: str | None,
    *,
    as_json: bool,
) -> None:
    """Talk to the stack's model, through a tunnel where one is needed.

    With PROMPT, or text on standard input, one answer; else a talk until Ctrl-D. Ctrl-C stops the answer, not the talk.
    Only the answer goes to stdout; speed and accepted drafts are told on stderr. A single argument with a blank in it
    is the PROMPT for the only stack there is.
    """
    from deployer.targets.reach import open_way, reach

    if prompt is None and stack is not None and any(c.isspace() for c in stack) and not Path(stack).exists():
        stack, prompt = None, stack
    if prompt is None and not sys.stdin.isatty():
        prompt = sys.stdin.read()
    if prompt is not None and not prompt.strip():
        raise UsageError("there is no question", hint='deployer chat NAME "Hello"')
    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        way = reach(chosen_stack(settings, view, stack), settings)
        with open_way(way, view.emit) as base_url:
            talk = Conversation(
                lambda: base_url, way.api_key, way.alias, certificate=way.certificate, max_tokens=max_tokens
            )
            if prompt is not None:
                _answer_once(talk, prompt, view if as_json else None)
            else:
                _talk(talk)


def _answer_once(talk: Conversation, prompt: str, view: View | None) -> None:
    """view: gets the whole answer as one document instead of the stream."""
    try:
        if view is None:
            _print_answer(talk, prompt)
            return
        pieces = list(talk.ask(prompt))
    except KeyboardInterrupt:
        raise InterruptedByUser("the answer was stopped") from None
    texts = {kind: "".join(piece.text for piece in pieces if piece.kind == kind) for kind in ("text", "thought")}
    view.show(
        Event("answer", {"answer": texts["text"], "thought": texts["thought"], **vars(talk.measure or Measure())})
    )


def _talk(talk: Conversation) -> None:
    """Until Ctrl-D. An error ends one answer only: the stack may be back at the next question."""
    with contextlib.suppress(ImportError):
        import readline  # noqa: F401 — gives input() its line editing and history

    click.echo(f"{talk.model}: Ctrl-C stops an answer, Ctrl-D ends the talk", err=True)
    while True:
        try:
            question = input("> ")
        except KeyboardInterrupt:
            click.echo("\nCtrl-D ends the talk", err=True)
            continue
        except EOFError:
            click.echo(err=True)
            return
        if not question.strip():
            continue
        try:
            _print_answer(talk, question)
        except KeyboardInterrupt:
            click.echo("\n(stopped)", err=True)
        except DeployerError as error:
            click.echo(f"\n{error.message}" + (f"\n{error.hint}" if error.hint else ""), err=True)


def _print_answer(talk: Conversation, question: str) -> None:
    """Stream it; what the model thinks shows dimmed on a terminal, and nowhere else."""
    thinking = said = False
    thoughts = sys.stderr.isatty()
    stream = talk.ask(question)
    try:
        for piece in stream:
            if piece.kind == "thought":
                if thoughts:
                    click.echo(piece.text if thinking else _DIM + piece.text, nl=False, err=True, color=True)
                    thinking = True
                continue
            if thinking:
                click.echo(_PLAIN + "\n", err=True, color=True)
                thinking = False
            said = True
            sys.stdout.write(piece.text)
            sys.stdout.flush()
    finally:
        # Closed here, so that the engine learns at once that nobody reads on.
        stream.close()
        if thinking:
            click.echo(_PLAIN, err=True, color=True)
    click.echo()
    if not said:
        click.echo("no answer, only thoughts: a larger --max-tokens leaves room for both", err=True)
    if talk.measure is not None:
        click.echo(told(talk.measure), err=True)


def told(measure: Measure) -> str:
    """One line such as `48 tokens, 31.2 tokens/s, 20 of 27 drafts accepted (74%)`."""
    parts = []
    if measure.tokens is not None:
        parts.append(f"{measure.tokens} tokens")
    if measure.per_second is not None:
        parts.append(f"{measure.per_second:.1f} tokens/s")
    if measure.draft_n:
        accepted = measure.draft_n_accepted or 0
        parts.append(f"{accepted} of {measure.draft_n} drafts accepted ({accepted / measure.draft_n:.0%})")
    return ", ".join(parts)
