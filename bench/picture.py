"""The README's picture: a real rehearsal, printed by the program's own view and kept as SVG.

Run it as `.venv/bin/python bench/picture.py [SPEC] [--out docs/rehearsal.svg]`.
"""

from __future__ import annotations

import argparse
import io
import re
import sys
from pathlib import Path
from typing import Any

from rehearse import rehearse
from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

from deployer.clock import SystemClock
from deployer.events import Event
from deployer.views.rehearsal import Board, report

WIDTH = 104

#: Rich's template without the fonts it would load from somewhere else.
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)


def draw(spec: str, bodies: list[dict[str, Any]]) -> str:
    """The SVG of what a terminal shows at the end of that rehearsal."""
    events = [Event(body["event"], {k: v for k, v in body.items() if k != "event"}) for body in bodies]
    board = Board(SystemClock())
    for event in events:
        board.apply(event)
    console = Console(
        record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor", highlight=False
    )
    console.print(Text(f"$ deployer rehearse {spec}", style="bold green"))
    console.print(board.table(Text(" "), WIDTH))
    console.print(report(events))
    return console.export_svg(title="deployer", code_format=_FORMAT, unique_id="rehearsal")


def main() -> int:
    """Rehearse once and write the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("spec", nargs="?", default="stacks/g5-27b-mtp.yaml")
    parser.add_argument("--out", type=Path, default=Path("docs/rehearsal.svg"))
    options = parser.parse_args()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(draw(options.spec, rehearse(options.spec)) + "\n", encoding="utf-8")
    print(f"wrote {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
