"""Which llama-server arguments `engine.extra_args` may not carry, and what to use instead.

Refused is what deployer sets itself, what is unsafe, and what this llama.cpp would not take: an unknown or removed
argument is fatal at start. Source: llama.cpp b11549 `--help`, its SECURITY.md and the CVEs of 2026.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from deployer.engine.dialect import Dialect, Flag, Problem, parse
from deployer.spec.findings import quoted_list, show

#: A name of a flag that the spec decides -> where in the spec. All other names of the flag count too.
OWNED: Mapping[str, str] = MappingProxyType(
    {
        "--host": "endpoint.expose",
        "--port": "endpoint.port",
        "--ctx-size": "engine.context",
        "--parallel": "engine.parallel",
        "--threads": "engine.threads",
        "--cache-type-k": "engine.cache_type_k",
        "--cache-type-v": "engine.cache_type_v",
        "--flash-attn": "engine.flash_attention",
        "--model": "model.source and model.file",
        "--model-url": "model.source and model.file",
        "--hf-repo": "model.source and model.file",
        "--hf-file": "model.source and model.file",
        "--hf-token": "model.source and model.file",
        "--docker-repo": "model.source and model.file",
        "--alias": "model.alias",
        "--spec-draft-n-max": "engine.mtp.draft_n_max",
        "--spec-draft-p-min": "engine.mtp.draft_p_min",
    }
)
_OWNED_PREFIXES = {"--spec-": "engine.mtp"}

_SHELL = "it lets a request run commands on the instance"
_ROUTER = "router mode serves models that were not chosen and not verified"
_ENDS = "llama-server would print something and end"
_NO_CHAT = "a stack is ready when it has completed a chat"
#: A name of a flag that is never accepted -> why.
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        "--tools": _SHELL,
        "--agent": _SHELL,
        "--ui-mcp-proxy": "it opens a proxy to everything the instance reaches",
        "--media-path": "it serves files of the instance",
        "--rpc": "llama.cpp's RPC has no protection against what the other side sends (CVE-2024-42477 and later)",
        "--sleep-idle-seconds": "CVE-2026-43631, memory is used after it was freed",
        "--models-dir": _ROUTER,
        "--models-preset": _ROUTER,
        "--models-max": _ROUTER,
        "--models-autoload": _ROUTER,
        "--embedding": _NO_CHAT,
        "--reranking": _NO_CHAT,
        "--log-disable": "deployer reads the engine's log to explain failures",
        "--log-file": "deployer keeps the engine's log itself, see `deployer logs`",
        "--help": _ENDS,
        "--version": _ENDS,
        "--list-devices": _ENDS,
        "--completion-bash": _ENDS,
        "--cache-list": _ENDS,
    }
)
#: Families that grow between builds.
_REFUSED_PREFIXES = {
    "--api-key": "deployer makes the API key and hands it over in a file; a key in a spec is a key in plain text",
    "--ssl-": "TLS is chosen by endpoint.tls (self-signed or off), which also tells the clients",
    "--mcp": "it starts programs on the instance",
    "--ui-mcp": _SHELL,
    "--webui-mcp": _SHELL,
}


def check_extra_args(args: Sequence[object], dialect: Dialect) -> list[Problem]:
    """What is wrong with the user's own arguments, in order, at most once for each word.

    Empty when llama.cpp will take them beside ours. Entries that are no text are left to the type check.
    """
    words = [arg if isinstance(arg, str) else "" for arg in args]
    # Words in the place of a value are looked at as well: who writes [-c, --port, "80"] has forgotten a value.
    found = {index: Problem(index, why) for index, word in enumerate(words) if (why := _policy(word, dialect))}
    uses, problems = parse(words, dialect)
    # A flag that has to go takes its values with it: they are no mistakes of their own.
    excused = {use.index + 1 + at for use in uses if use.index in found for at in range(len(use.values))}
    for problem in sorted(problems, key=lambda problem: problem.index):
        index, word = problem.index, words[problem.index]
        if not word.startswith("-") and _follows_a_bad_flag(index, words, found, excused):
            excused.add(index)
        if index not in found and index not in excused and isinstance(args[index], str):
            found[index] = _worded(problem, word, dialect)
    return [found[index] for index in sorted(found)]


def names_used(args: Sequence[str], dialect: Dialect) -> frozenset[str]:
    """Every name of every flag in `args`, so that a default of ours can step back for the user's."""
    uses, _ = parse(args, dialect)
    return frozenset(name for use in uses for name in use.flag.names)


def _follows_a_bad_flag(index: int, words: list[str], found: Mapping[int, Problem], excused: set[int]) -> bool:
    before = index - 1
    return before in excused or (before in found and words[before].startswith("-"))


def _written(word: str) -> str:
    """The flag in a word that may hold its value too: `--port` of `--port=80` and of `--port 80`."""
    pieces = word.split(maxsplit=1)
    return pieces[0].split("=", 1)[0] if pieces else word


def _name(word: str) -> str:
    written = _written(word)
    # llama.cpp takes `--ctx_size` for `--ctx-size`.
    return written.replace("_", "-") if written.startswith("--") else written


def _policy(word: str, dialect: Dialect) -> str | None:
    if not word.startswith("-"):
        return None
    name, shown = _name(word), f"`{show(_written(word))}`"
    if name in dialect.removed:
        return f"{shown} was removed from llama.cpp; {_instead(name, dialect)}"
    owner = _owner(name, dialect)
    if owner:
        return f"{shown} is set by deployer; use {owner}"
    why = _lookup(name, dialect, REFUSED, _REFUSED_PREFIXES)
    return f"{shown} is refused: {why}" if why else None


def _owner(name: str, dialect: Dialect) -> str | None:
    return _lookup(name, dialect, OWNED, _OWNED_PREFIXES)


def _lookup(name: str, dialect: Dialect, table: Mapping[str, str], prefixes: Mapping[str, str]) -> str | None:
    flag = dialect.flags.get(name)
    names = flag.names if flag else (name,)
    exact = (table[one] for one in names if one in table)
    family = (text for prefix, text in prefixes.items() if any(one.startswith(prefix) for one in names))
    return next(exact, None) or next(family, None)


def _instead(removed: str, dialect: Dialect) -> str:
    replacement = dialect.removed[removed]
    first = replacement.split()[0]
    owner = _owner(first, dialect) or _owner(removed, dialect)
    if owner:
        return f"use {owner}"
    flag = dialect.flags.get(first)
    if flag is None or not flag.values:
        return f"use {replacement}"
    # `--mlock` is the value mlock of its successor.
    named = removed.lstrip("-")
    value = named if named in flag.values else flag.values[0]
    return f"write {_entries(first, value)} ({quoted_list(flag.values)})"


def _worded(problem: Problem, word: str, dialect: Dialect) -> Problem:
    """The problem in the words that help most: a flag and its value in one word is told by what to write instead."""
    written, name = _written(word), _name(word)
    if not word.startswith("-") or written == word:
        return _printable(problem)
    flag = dialect.flags.get(name)
    if flag is None:
        _, (unknown,) = parse([name], dialect)
        return _printable(Problem(problem.index, unknown.message, unknown.hint))
    return Problem(problem.index, _two_words(word, written, flag))


def _two_words(word: str, written: str, flag: Flag) -> str:
    rest = word[len(written) :]
    value = rest.strip().removeprefix("=").strip()
    entries = _entries(written, *([value] if value and flag.takes else []))
    return f"llama-server takes no `=`; write {entries}" if rest.startswith("=") else f"one word an entry: {entries}"


def _entries(*words: str) -> str:
    quoted = (f'"{show(word)}"' for word in words)
    return f"[{', '.join(quoted)}]"


def _printable(problem: Problem) -> Problem:
    return Problem(problem.index, show(problem.message, limit=200), problem.hint)
