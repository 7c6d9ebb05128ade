"""`deployer bench`: how fast an endpoint really is, seen from here."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.clock import SystemClock
from deployer.errors import InterruptedByUser, NotHealthyError, UsageError
from deployer.events import Event
from deployer.settings import Settings
from deployer.views.base import View

if TYPE_CHECKING:
    from deployer.measure.asking import Asker
    from deployer.measure.result import Predicted

_FILE = click.Path(path_type=Path, dir_okay=False)


class _Numbers(click.ParamType[tuple[int, ...]]):
    """`1,2,4`: whole numbers above nothing."""

    name = "numbers"

    def __init__(self, highest: int) -> None:
        self._highest = highest

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        if isinstance(value, tuple):
            return value
        try:
            found = tuple(dict.fromkeys(int(part) for part in str(value).split(",")))
        except ValueError:
            self.fail(f"{value!r} is no list of whole numbers such as 1,2,4", param, ctx)
        if not all(0 < number <= self._highest for number in found):
            self.fail(f"{value!r}: each number is between 1 and {self._highest}", param, ctx)
        return found


@click.command()
@click.argument("what", required=False, metavar="[STACK|SPEC|URL]")
@click.option("--runs", type=click.IntRange(1, 1000), default=5, show_default=True, help="Repetitions of every case.")
@click.option(
    "--max-tokens", type=click.IntRange(2, 32768), default=128, show_default=True, help="Length of an answer."
)
@click.option("--concurrency", type=_Numbers(256), default="1,2,4,8", show_default=True, help="Streams at once.")
@click.option(
    "--prompt-tokens",
    type=_Numbers(1_000_000),
    default="128,512,2048",
    show_default=True,
    help="Lengths of long prompts.",
)
@click.option("--quick", is_flag=True, help="Two runs of 32 tokens, 1 and 2 streams, one long prompt.")
@click.option("--model", metavar="NAME", help="Of an endpoint that serves several.")
@click.option(
    "--key-env", default="OPENAI_API_KEY", show_default=True, metavar="VARIABLE", help="Holds the API key of a URL."
)
@click.option("--save", type=_FILE, metavar="FILE", help="Keep the result as JSON, for --compare.")
@click.option("--markdown", "as_markdown", type=_FILE, metavar="FILE", help="Write it as Markdown.")
@click.option("--html", "as_html", type=_FILE, metavar="FILE", help="Write it as one HTML file with plots.")
@click.option(
    "--compare", nargs=2, type=_FILE, metavar="A B", help="Measure nothing: show two saved results side by side."
)
@aws_options
@json_option
def bench(
    what: str | None,
    runs: int,
    max_tokens: int,
    concurrency: tuple[int, ...],
    prompt_tokens: tuple[int, ...],
    model: str | None,
    key_env: str,
    save: Path | None,
    as_markdown: Path | None,
    as_html: Path | None,
    compare: tuple[Path, Path] | None,
    region: str | None,
    profile: str | None,
    *,
    quick: bool,
    as_json: bool,
) -> int:
    """Measure a stack, or any llama-server by its base URL, with fixed prompts in English, Chinese and code.

    One stream for each text, then several streams at once, then long prompts: tokens/s, time to the first token,
    prompt speed and accepted drafts, as medians with their spread. After a warm-up nothing comes from the cache. Of a
    SPEC the predicted speed stands beside the measured one. Ctrl-C shows what was measured until then.
    """
    from deployer.measure.cases import Wishes
    from deployer.measure.run import chosen_model, run

    for file in (save, as_markdown, as_html):
        if file is not None and not file.parent.is_dir():
            raise UsageError(f"there is no folder {file.parent}", where=str(file), hint=f"mkdir -p {file.parent}")
    with open_view(as_json=as_json) as view:
        if compare:
            if what is not None:
                raise UsageError(
                    "--compare measures nothing, so it takes no stack", hint="deployer bench --compare A B"
                )
            _compare(compare, view, as_markdown, as_html)
            return 0
        settings = make_settings(region, profile)
        wishes = Wishes(2, 32, (1, 2), (256,)) if quick else Wishes(runs, max_tokens, concurrency, prompt_tokens)
        with _endpoint(what, settings, view, key_env) as (asker, subject):
            name = chosen_model(asker, model)
            result = run(asker, subject, name, wishes, SystemClock(), view.emit, _predicted(what, settings))
        from deployer.views import bench as texts
        from deployer.views.bench_report import html

        _write(save, lambda: texts.as_json(result))
        _write(as_markdown, lambda: texts.markdown(result))
        _write(as_html, lambda: html(result))
        view.show(Event("bench", result.document()))
    if not result.complete:
        return InterruptedByUser.exit_code if result.ended == "interrupted" else NotHealthyError.exit_code
    return 0


@contextmanager
def _endpoint(what: str | None, settings: Settings, view: View, key_env: str) -> Iterator[tuple[Asker, str]]:
    """Something to ask, and what it is called: a URL as it is, a stack by its tunnel where one is needed."""
    from deployer.measure.asking import Asker
    from deployer.targets.reach import open_way, reach

    clock = SystemClock()
    if what is not None and what.startswith(("http://", "https://")):
        if "@" in what.partition("://")[2].partition("/")[0]:
            hint = f"name a variable that holds the key: deployer bench --key-env {key_env} URL"
            raise UsageError("a URL with a user or password in it would be written into every report", hint=hint)
        url = what.rstrip("/")
        asker = Asker(url if url.endswith("/v1") else f"{url}/v1", os.environ.get(key_env), clock.monotonic)
        try:
            yield asker, what
        finally:
            asker.close()
        return
    way = reach(chosen_stack(settings, view, what), settings)
    with open_way(way, view.emit) as base_url:
        asker = Asker(base_url, way.api_key, clock.monotonic, way.certificate)
        try:
            yield asker, way.stack
        finally:
            asker.close()


def _predicted(what: str | None, settings: Settings) -> Predicted | None:
    """What the catalogue expects of a spec; a name or a URL alone does not tell the hardware and the model."""
    if what is None or not Path(what).is_file():
        return None
    from deployer.cli.deciding import decided
    from deployer.decide.money import speed_of
    from deployer.measure.result import Predicted

    found = speed_of(decided(Path(what), settings))
    return Predicted(found.tokens_per_second, found.low, found.high, found.evidence) if found else None


def _compare(files: tuple[Path, Path], view: View, as_markdown: Path | None, as_html: Path | None) -> None:
    from deployer.measure.comparing import differences, unlike
    from deployer.measure.result import parse
    from deployer.views import bench as texts
    from deployer.views.bench_report import compared_html

    before, after = (parse(_read(file), str(file)) for file in files)
    rows = differences(before, after)
    for why in unlike(before, after):
        view.emit(Event("warning", {"message": f"the two are not alike: {why}"}))
    names = (files[0].stem, files[1].stem)
    _write(as_markdown, lambda: texts.compared_markdown(names, rows))
    _write(as_html, lambda: compared_html(before, after, names, rows))
    view.show(Event("bench.compared", {"before": names[0], "after": names[1], "differences": [vars(r) for r in rows]}))


def _read(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"cannot be read: {error}", where=str(file), hint="deployer bench --save FILE writes one"
        ) from None


def _write(file: Path | None, text: Callable[[], str]) -> None:
    if file is None:
        return
    try:
        file.write_text(text(), encoding="utf-8")
    except OSError as error:
        raise UsageError(f"cannot be written: {error}", where=str(file), hint="name another file") from None
