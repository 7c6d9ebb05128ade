"""From a file name to the text of a spec, with every way that can fail said plainly."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

from deployer.errors import SpecError
from deployer.spec.findings import single
from deployer.spec.positions import Position
from deployer.spec.suggest import closest

# A spec is a screenful; a megabyte is somebody's log or model by mistake.
MAX_BYTES = 1024 * 1024

_START = Position(1, 1)
_OTHER_ENCODINGS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16"}


class LineIndex:
    """Character offsets to line and column. Lines end at LF, CR LF or CR, as editors count them."""

    def __init__(self, text: str) -> None:
        self._length = len(text)
        self._starts = [0]
        for index, character in enumerate(text):
            if character == "\n" or (character == "\r" and text[index + 1 : index + 2] != "\n"):
                self._starts.append(index + 1)

    def position(self, offset: int) -> Position:
        """Where the character at `offset` stands; offsets beyond the text give its end."""
        offset = max(0, min(offset, self._length))
        line = bisect_right(self._starts, offset)
        return Position(line, offset - self._starts[line - 1] + 1)


def read_text(path: Path) -> str:
    """The spec's text. Raises SpecError when it is missing, no file, unreadable, over 1 MiB or not UTF-8."""
    file = str(path)
    try:
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise single(file, _START, "no such file", hint=_neighbour_hint(path)) from None
    except IsADirectoryError:
        raise single(file, _START, "is a directory, not a spec file", hint=_inside_hint(path)) from None
    except OSError as error:
        raise single(file, _START, f"cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise single(file.replace("\0", "\\0"), _START, "is not a file name") from None
    if len(data) > MAX_BYTES:
        raise single(file, _START, "is larger than 1 MiB, so it is no stack spec")
    return decode(data, file)


def decode(data: bytes, file: str) -> str:
    """UTF-8 text, without a byte order mark. Raises SpecError at the first byte that is not UTF-8."""
    for mark, name in _OTHER_ENCODINGS.items():
        if data.startswith(mark):
            raise single(file, _START, f"is {name} text; save it as UTF-8")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        at = LineIndex(before).position(len(before))
        raise _not_utf8(file, at, data[error.start]) from None


def _not_utf8(file: str, at: Position, byte: int) -> SpecError:
    return single(file, at, f"byte 0x{byte:02x} is not UTF-8 text; save the file as UTF-8")


def _specs_in(folder: Path) -> list[str]:
    try:
        return sorted(p.name for p in folder.iterdir() if p.suffix in {".yaml", ".yml"})[:50]
    except OSError:
        return []


def _neighbour_hint(path: Path) -> str | None:
    near = closest(path.name, _specs_in(path.parent))
    return f"did you mean {path.parent / near}?" if near else None


def _inside_hint(path: Path) -> str | None:
    names = _specs_in(path)
    return f"it holds {', '.join(names[:8])}" if names else None
