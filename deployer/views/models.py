"""What a GGUF is and how far its push is, for people: a bar on a terminal, a line now and then in a pipe."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Self, TextIO

from deployer.events import Event, Json
from deployer.views.base import View
from deployer.views.table import Cell, Page, Row, Style
from deployer.views.units import duration, size

if TYPE_CHECKING:
    from rich.progress import Progress

_PIPE_WIDTH = 120
#: In a pipe, a line when the push passes a multiple of this.
_STEP_PERCENT = 10


def choose_model_view(stream: TextIO, environ: Mapping[str, str], *, as_json: bool) -> View:
    """JSON lines when asked for, a bar on a terminal, plain lines everywhere else."""
    if as_json:
        from deployer.views.json import JsonView

        return JsonView(stream)
    live = stream.isatty() and environ.get("TERM") != "dumb"
    return ModelView(stream, bar=live, colour=live and not environ.get("NO_COLOR"))


class ModelView:
    """bar: draw one while a push runs, and be as wide as the terminal."""

    def __init__(self, stream: TextIO, *, bar: bool, colour: bool) -> None:
        self._stream = stream
        self._bar = bar
        self._colour = colour
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._step = -1

    def emit(self, event: Event) -> None:
        """One of the events of a push."""
        with self._lock:
            fields = event.fields
            match event.name:
                case "push.model":
                    self._write(model_lines(fields, self._page()))
                case "push.start":
                    self._write([_start(fields)])
                    if self._bar:
                        self._progress = _make_bar(self._stream, fields, colour=self._colour)
                case "push.progress":
                    self._move(fields)
                case "push.verified":
                    self._stop()
                    self._write([_verified(fields)])
                case "warning":
                    hint = f" ({fields['hint']})" if fields.get("hint") else ""
                    self._write([f"! {fields.get('message')}{hint}"])
                case _:
                    pass

    def show(self, document: Event) -> None:
        """The documents `model` and `model.pushed`."""
        with self._lock:
            self._stop()
            lines = model_lines if document.name == "model" else pushed_lines
            self._write(lines(document.fields, self._page()))

    def _move(self, fields: Mapping[str, Json]) -> None:
        if self._progress is not None:
            self._progress.update(self._progress.task_ids[0], completed=_number(fields, "bytes"), said=_rate(fields))
            return
        step = int(_number(fields, "percent") // _STEP_PERCENT)
        if not self._bar and step > self._step:
            self._step = step
            done, total = size(_number(fields, "bytes")), size(_number(fields, "total_bytes"))
            self._write([f"… {_number(fields, 'percent'):.0f} %  {done} of {total}  {_rate(fields)}".rstrip()])

    def _page(self) -> Page:
        import shutil

        return Page(shutil.get_terminal_size().columns if self._bar else _PIPE_WIDTH, self._colour)

    def _write(self, lines: list[str]) -> None:
        self._stream.write("\n".join(lines) + "\n")
        self._stream.flush()

    def _stop(self) -> None:
        if self._progress is not None:
            self._progress.stop()
            self._progress = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give the terminal back."""
        with self._lock:
            self._stop()


def model_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `model inspect` as text."""
    rows: list[tuple[str, str]] = [
        ("architecture", str(fields["architecture"])),
        ("name", str(fields["name"] or "—")),
        ("quantisation", str(fields["quantisation"] or "not named")),
        ("size", f"{size(_number(fields, 'size_bytes'))}  ({_number(fields, 'size_bytes'):,.0f} bytes)"),
        ("parameters", _count(_number(fields, "parameters"))),
        ("context limit", f"{_number(fields, 'context_limit'):,.0f} tokens" if fields["context_limit"] else "not said"),
        ("layers", f"{fields['layers']}, of them {fields['full_attention_layers']} with full attention"),
        ("experts", f"{fields['experts']}, {fields['experts_used']} at a time" if fields["experts"] else "none: dense"),
        ("tensors", str(fields["tensors"])),
    ]
    head = "yes" if fields["mtp_head"] else "no"
    style: Style = "green" if fields["mtp_head"] else "red" if fields["mtp_tensors_missing"] else ""
    cells: list[Row] = [[Cell(name, "dim"), value] for name, value in rows]
    cells.append([Cell("MTP head", "dim"), Cell(f"{head}: {fields['mtp_reason']}", style)])
    notes = fields.get("notes")
    found = [page.paint(f"! {note}", "yellow") for note in notes] if isinstance(notes, list) else []
    return [page.paint(str(fields["source"]), "bold"), *page.table(cells), *found]


def pushed_lines(fields: Mapping[str, Json], page: Page) -> list[str]:
    """The document of `model push` as text: what happened, and the block for a spec."""
    url = fields["url"]
    if fields["changed"]:
        took = duration(_number(fields, "seconds"))
        first = f"✔ {url}  {size(_number(fields, 'size_bytes'))} in {took}"
    else:
        first = f"✔ {url} holds this very file already, nothing was sent"
    return [first, "", "for a spec:", *str(fields["spec"]).rstrip().splitlines()]


def _start(fields: Mapping[str, Json]) -> str:
    there, again = _number(fields, "there_bytes"), _number(fields, "reread_bytes")
    said = f"→ to {fields['url']} in {fields['parts']} parts of {size(_number(fields, 'part_bytes'))}"
    if there:
        said += f", {size(there)} of it there already"
    if again:
        said += f", {size(again)} read again"
    return f"{said}: {fields['why']}" if fields.get("why") else said


def _verified(fields: Mapping[str, Json]) -> str:
    by = f"as {fields['says']} says" if fields.get("says") else "computed"
    return f"✔ sha256 {fields['sha256']}, {by}"


def _rate(fields: Mapping[str, Json]) -> str:
    rate, left = _number(fields, "bytes_per_second"), fields.get("left_seconds")
    said = f"{size(rate)}/s" if rate else ""
    return f"{said}, {duration(left)} left" if isinstance(left, int | float) and left else said


def _count(number: float) -> str:
    for unit, scale in (("billion", 1e9), ("million", 1e6)):
        if number >= scale:
            return f"{number / scale:.1f} {unit}"
    return f"{number:.0f}"


def _number(fields: Mapping[str, Json], name: str) -> float:
    value = fields.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _make_bar(stream: TextIO, fields: Mapping[str, Json], *, colour: bool) -> Progress:
    from rich.progress import BarColumn, DownloadColumn, Progress, TaskProgressColumn, TextColumn

    from deployer.views.console import make_console

    bar = Progress(
        BarColumn(bar_width=None),
        TaskProgressColumn(),
        DownloadColumn(binary_units=True),
        TextColumn("{task.fields[said]}"),
        console=make_console(stream, colour=colour),
        transient=True,
        expand=True,
    )
    bar.add_task("", total=_number(fields, "total_bytes"), completed=int(_number(fields, "there_bytes")), said="")
    bar.start()
    return bar
