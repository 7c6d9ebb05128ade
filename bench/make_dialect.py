"""Regenerate the flag table of one llama.cpp build from the argument tables in its tools/server/README.md.

    python bench/make_dialect.py b11549 path/to/llama.cpp/tools/server/README.md

Writes deployer/catalog/data/dialects.json, keeping the other builds in it. llama.cpp generates that README from the
table that parses its arguments; it lists the removed ones too, except those in GONE.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

OUT = Path(__file__).parent.parent / "deployer/catalog/data/dialects.json"
REMOVED = "the argument has been removed."

# Removed without a trace in the help: llama.cpp only says `invalid argument`.
GONE = [
    {"names": ["--mmap", "--no-mmap", "--mlock", "--direct-io", "-dio", "--no-direct-io", "-ndio"],
     "replacement": "--load-mode auto|none|mmap|mlock|mmap+mlock|dio (since about b10884)"},
]  # fmt: skip


def parse_row(row: str) -> dict[str, Any]:
    """One table row: `| `-c, --ctx-size N` | explanation |`."""
    cell, explanation = re.fullmatch(r"\| `(.+?)` \| (.*) \|", row.replace("\\|", "\x00")).groups()  # type: ignore[union-attr]
    flags = re.match(r"-{1,2}[A-Za-z][\w.-]*(, -{1,2}[A-Za-z][\w.-]*)*", cell)
    assert flags is not None, row
    value = cell[flags.end() :].strip().replace("\x00", "|")
    entry: dict[str, Any] = {"names": flags.group().split(", ")}
    if explanation.startswith(REMOVED):
        entry["replacement"] = explanation.removeprefix(REMOVED).split("<br/>")[0].strip().removeprefix("use ")
        return entry
    entry["takes"] = 2 if value == "START END" else int(bool(value))
    values = allowed_values(value, explanation)
    if values:
        entry["values"] = values
    if entry["names"] == ["--spec-type"]:
        entry["list"] = True
    return entry


def allowed_values(value: str, explanation: str) -> list[str]:
    """The closed set of values, when there is one."""
    if value.startswith("none,draft"):
        return value.split(",")
    listed = re.search(r"allowed values: ([^<]+)", explanation)
    if listed:
        return [word.strip() for word in listed.group(1).split(",")]
    choice = re.fullmatch(r"[\[{<]([\w|,]+)[\]}>]", value)
    if choice and re.search(r"[|,]", choice.group(1)):
        return re.split(r"[|,]", choice.group(1))
    if value == "MODE":
        return re.findall(r"<br/>- ([\w+]+):", explanation)
    return []


def main() -> int:
    """Read the README named on the command line and write the data file."""
    build, readme = sys.argv[1], Path(sys.argv[2]).read_text(encoding="utf-8")
    table = readme[readme.index("HELP_START") : readme.index("HELP_END")]
    entries = [parse_row(line) for line in table.splitlines() if line.startswith("| `-")]
    document = json.loads(OUT.read_text()) if OUT.exists() else {"builds": {}}
    document["source"] = "tools/server/README.md of each build (llama.cpp, MIT), and PR #28334 for the load flags"
    document["date"] = "2026-11-30"
    document["builds"][build] = {
        "flags": [entry for entry in entries if "takes" in entry],
        "removed": [*(entry for entry in entries if "replacement" in entry), *GONE],
    }
    lines = [
        "{",
        f' "source": {json.dumps(document["source"])},',
        f' "date": {json.dumps(document["date"])},',
        ' "builds": {',
    ]
    for number, (name, rows) in enumerate(document["builds"].items()):
        lines.append(f"  {json.dumps(name)}: {{")
        for kind in ("flags", "removed"):
            body = ",\n".join(f"    {json.dumps(row)}" for row in rows[kind])
            lines.append(f'   "{kind}": [\n{body}\n   ]' + ("," if kind == "flags" else ""))
        lines.append("  }" + ("," if number + 1 < len(document["builds"]) else ""))
    OUT.write_text("\n".join([*lines, " }", "}"]) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
