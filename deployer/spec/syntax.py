"""ruamel.yaml's syntax errors in plain words."""

from __future__ import annotations

from ruamel.yaml.error import MarkedYAMLError

# (part of ruamel.yaml's problem, our words, report where the construct began instead of where reading stopped)
_WORDS: tuple[tuple[str, str, bool], ...] = (
    ("character '\\t'", "a tab cannot indent or separate in YAML; use spaces", False),
    (
        "mapping values are not allowed",
        "`:` cannot stand here — check the indentation and the line above; quote a value that contains `: `",
        False,
    ),
    ("could not find expected ':'", "this line is neither `key: value` nor a list item", True),
    ("found unexpected end of stream", "the quote opened here is never closed", True),
    ("found unexpected document separator", "the quote opened here is not closed before `---`", True),
    ("expected ',' or ']'", "the list opened here is not closed: `,` or `]` expected", True),
    ("expected ',' or '}'", "the mapping opened here is not closed: `,` or `}` expected", True),
    ("expected the node content, but found '<stream end>'", "the bracket opened here is never closed", True),
    ("expected <block end>", "the indentation does not match the lines above", False),
    (
        "found unknown escape character",
        "unknown escape in double quotes; use single quotes for a literal backslash",
        False,
    ),
    ("sequence entries are not allowed", "a list item cannot stand here; put it on its own line, indented", False),
    ("found duplicate anchor", "the same anchor is defined twice", False),
    ("expected '<document start>'", "this cannot follow what stands above — check quotes and indentation", False),
    ("incompatible YAML document", "only YAML 1.2 is read; remove the %YAML line", False),
)
_INTERPOLATION_IN_FLOW = 'inside [ ] and { } an interpolation needs quotes: "${env:NAME}"'


def explain(error: MarkedYAMLError, text: str) -> tuple[int, str]:
    """The character offset to point at, and the message."""
    problem = str(error.problem or error.context or "")
    for part, words, at_start in _WORDS:
        if part in problem:
            mark = error.context_mark if at_start and error.context_mark else error.problem_mark
            stopped = error.problem_mark.index if error.problem_mark else 0
            if part.startswith("expected ','") and text[stopped - 1 : stopped + 1] == "${":
                return stopped - 1, _INTERPOLATION_IN_FLOW
            if part == "expected <block end>" and text[text.rfind("\n", 0, stopped) + 1 : stopped].strip():
                return stopped, "this cannot follow on the same line — quote the whole value, or begin a new line"
            return (mark.index if mark else 0), words
    mark = error.problem_mark or error.context_mark
    offset = mark.index if mark else 0
    if "cannot start any token" in problem:
        return offset, f"a value cannot begin with `{text[offset : offset + 1]}`; quote it"
    return offset, "is not valid YAML here: " + problem.replace("\n", " ")
