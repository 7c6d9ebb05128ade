"""The bundle is the same program: what it may shorten, and what it must leave alone."""

from __future__ import annotations

import contextlib
import io

import pytest

from deployer.render.bundle import bundle

PACKAGE = {
    "__main__": '''
"""Entry."""
from __future__ import annotations
from . import helper, shapes
from .helper import double as twice, Unused
from .shapes import Point

def main(helper_count: int = 2) -> int:
    """Says things."""
    point: Point = Point(x=1, y=2)
    count = 0
    for x in range(helper_count):
        count += twice(x)
    print(count, point.x, point._total(), helper.double(4), shapes.SIZE, [x for x in (1, 2) if x])
    print(helper.call(first=3, second=4), helper.shadow("given"), helper.closure()(5))
    try:
        raise helper.Problem("bad")
    except helper.Problem as problem:
        print(f"{problem}")
    return count

raise SystemExit(main())
''',
    "helper": '''
from __future__ import annotations
import os.path, json as unused_json
from collections import OrderedDict
from .shapes import SIZE
SCALE = 2
NEVER = 9

class Problem(Exception):
    """A problem."""

class Unused:
    pass

def double(value: int) -> int:
    return value * SCALE

def call(first, second, **rest):
    local = {"first": first}
    return [local, second, SIZE, rest, os.path.basename("a/b"), OrderedDict(a=1)["a"]]

def shadow(SCALE):
    # A parameter with a global's name.
    return SCALE + "!"

def closure():
    total = SCALE
    def add(value):
        return (lambda total_, *more: total_ + value)(total)
    return add

def never():
    return NEVER
''',
    "shapes": '''
from typing import NamedTuple
SIZE: int = 7
SCALE = "another SCALE"

class Point(NamedTuple):
    """A point."""
    x: int
    y: int | None = None
    def _total(self):
        return self.x + self.y + len(SCALE)
''',
}


def run(program: str) -> tuple[str, int]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), pytest.raises(SystemExit) as ended:
        exec(compile(program, "program", "exec"), {"__name__": "__main__"})
    assert isinstance(ended.value.code, int)
    return out.getvalue(), ended.value.code


def test_it_does_the_same() -> None:
    program = bundle(PACKAGE, "__main__")
    assert run(program) == (
        "2 1 16 8 7 [1, 2]\n[{'first': 3}, 4, 7, {}, 'b', 1] given! 7\nbad\n",
        2,
    )


def test_it_leaves_out_what_nobody_uses() -> None:
    program = bundle(PACKAGE, "__main__")
    for gone in ("Unused", "NEVER", "json", "never", "A problem", "Says things", "__future__", "\n\n"):
        assert gone not in program


def test_it_is_deterministic() -> None:
    assert bundle(PACKAGE, "__main__") == bundle(dict(reversed(PACKAGE.items())), "__main__")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("def f():\n    global g\n    g = 1\nf()", "Global"),
        ("def f():\n    import os\n    return os\nf()", "import inside a function"),
        ("print(n := 1)", "NamedExpr"),
        ("from . import __main__", "import cycle"),
    ],
)
def test_what_it_does_not_understand_it_refuses(code: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        bundle({"__main__": code + ("\n__main__" if "cycle" in message else "")}, "__main__")


def test_constants_that_one_place_reads_stand_there() -> None:
    text = bundle(
        {
            "__main__": "import os\nONE = 1 << 4\nTWO = (1, 'a')\nTWICE = 'b'\nMADE = list('c')\n"
            "print(ONE, TWO, TWICE, TWICE, MADE, os.sep)\nraise SystemExit(0)\n"
        },
        "__main__",
    )
    assert "print(1<<4,(1,'a')," in text
    assert "'b'" in text and text.count("'b'") == 1
    assert "list('c')" in text.partition("print")[0]
