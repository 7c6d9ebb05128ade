"""Each line once, however a growing text is shown."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from deployer.access.files import LocalFile, Piece
from deployer.targets.log_tails import ConsoleTail, FileTail
from deployer.targets.logs import Logs, Reader, Want

#: What GetConsoleOutput keeps, here smaller; larger than what a tail looks for.
WINDOW = 4096
_WORDS = st.lists(st.text(alphabet="abc \r", max_size=12), max_size=8)


@given(st.lists(_WORDS, max_size=8))
def test_every_line_of_a_growing_console_comes_once(steps: list[list[str]]) -> None:
    tail, text, shown = ConsoleTail(), "", []
    lines = [f"{number} {word}" for number, word in enumerate(word for words in steps for word in words)]
    rest = iter(lines)
    for words in steps:
        text += "".join(f"{next(rest)}\n" for _ in words)
        shown += tail.take(text + "cut he")
    assert shown == [line.removesuffix("\r") for line in lines]


def test_a_console_that_slides_and_one_that_begins_anew() -> None:
    tail, text, shown = ConsoleTail(), "", []
    for number in range(1000):
        text += f"line {number}\n"
        if number % 50 == 0:
            shown += tail.take(text[-WINDOW:])
    assert shown == [f"line {number}" for number in range(951)]
    assert tail.take("a new boot\n") == ["a new boot"]


@given(st.lists(st.binary(max_size=30), max_size=10), st.integers(0, 5))
def test_every_line_of_a_growing_file_comes_once(chunks: list[bytes], lines: int) -> None:
    file, tail = _Memory(), FileTail(lines)
    first = tail.take(file)
    assert first == []
    shown = []
    for chunk in chunks:
        file.data += chunk
        shown += tail.take(file) or []
    *whole, rest = file.data.split(b"\n")
    assert shown == [line.decode(errors="replace") for line in whole]
    assert tail.rest() == ([rest.decode(errors="replace")] if rest else [])


def test_a_file_that_comes_late_is_shown_whole(tmp_path: Path) -> None:
    path, tail = tmp_path / "log", FileTail(1)
    assert tail.take(LocalFile(path)) is None
    path.write_text("1\n2\n3\n")
    assert tail.take(LocalFile(path)) == ["1", "2", "3"]


def test_more_than_one_read_takes(tmp_path: Path) -> None:
    path, tail = tmp_path / "log", FileTail(2)
    path.write_text("".join(f"{number:0100}\n" for number in range(10_000)))
    assert tail.take(LocalFile(path)) == [f"{number:0100}" for number in (9998, 9999)]
    with path.open("a") as file:
        file.writelines(f"{number:0100}\n" for number in range(10_000))
    assert tail.take(LocalFile(path)) == [f"{number:0100}" for number in range(10_000)]


def test_boot_lines_are_shown_until_the_agent_speaks() -> None:
    text = "kernel\nsystemd\n"
    logs = Logs("box", lambda: text, lambda: _Memory(), None, 1.0)
    reader = Reader(logs, Want("agent", engine=False, lines=1))
    assert [event.fields["line"] for event in reader.console()] == ["systemd"]
    text += 'login:\n[ 5.1] deployer-agent: {"v":1,"ts":1,"phase":"boot","state":"start"}\nmore\n'
    assert [event.fields["phase"] for event in reader.console()] == ["boot"]
    assert reader.console() == []


class _Memory:
    def __init__(self) -> None:
        self.data = b""

    def read(self, start: int, limit: int) -> Piece:
        begin = max(len(self.data) + start, 0) if start < 0 else start
        return Piece(begin, self.data[begin : begin + limit])

    def close(self) -> None:
        pass
