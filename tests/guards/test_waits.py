"""No loop and no wait without an end: each has a deadline, or says here why it ends."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.guards.source import name_of, product_files, tree_of

#: What a loop that watches the time is made of.
_TIMED = ("deadline", "elapsed", "waited", "_give_up_after", "_TRIES")

#: file:function -> why it ends without a deadline of its own.
_ENDS = {
    "deployer/agent/supervisor.py:supervise": "lasts as long as the instance serves; ends by Stop or MAX_CRASHES",
    "deployer/agent/supervisor.py:_watch": "ends when the engine does, or by Stop",
    "deployer/agent/idle.py:watch": "lasts as long as the instance serves; ends by Stop or with the instance",
    "deployer/cli/chat.py:_talk": "a person's talk, ended by Ctrl-D",
    "deployer/cli/status.py:_watch": "a person's watch, ended by Ctrl-C",
    "deployer/targets/local_lock.py:_acquire": "does not wait: it raises, or the file was replaced under it",
    "deployer/images/commands.py:run": "a build: its lines are told, Ctrl-C ends it",
    "deployer/agent/commands.py:run": "a child whose lines are read to their end, killed by Stop",
    "deployer/access/running.py:run": "a person's command: both streams end with its channel, which has keepalive",
    "deployer/access/ssh.py:_drain_both": "the channel has a timeout, for both streams",
    "deployer/access/streams.py:forward": "a client's connection: its socket or its channel was ended before",
    "deployer/access/tunnel.py:close": "the acceptor was woken up and ends",
    "deployer/agent/download.py:run": "helpers read from sockets with a timeout and look at Stop",
    "deployer/agent/hasher.py:close": "the thread was told to end, it hashes one piece at most",
    "deployer/images/remote.py:run": "the channel has a timeout, for reading and writing",
    "deployer/reconcile/parallel.py:gather": "a task is made of calls and waits that have deadlines",
}


def _functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            yield f"{name_of(path)}:{node.name}", node


def _own(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function without those of functions inside it."""
    todo: list[ast.AST] = list(function.body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, ast.FunctionDef):
            todo += ast.iter_child_nodes(node)


def _reads(loop: ast.While) -> bool:
    """A loop over pages or pieces: it asks for the next as long as there is one."""
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(loop))
    return yields or "IsTruncated" in ast.unparse(loop)


def _waits(node: ast.AST) -> bool:
    """`x.wait()`, `x.join()`, `x.acquire()` without a limit."""
    match node:
        case ast.Call(func=ast.Attribute(attr="wait" | "join" | "acquire"), args=[], keywords=[]):
            return True
        case _:
            return False


def _unbounded(path: Path) -> set[str]:
    found = set()
    for name, function in _functions(path):
        text = ast.unparse(function)
        for node in _own(function):
            endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and not _reads(node)
            if (endless and not any(word in text for word in _TIMED)) or _waits(node):
                found.add(name)
    return found


@pytest.mark.parametrize("path", product_files(), ids=name_of)
def test_every_loop_and_wait_has_an_end(path: Path) -> None:
    assert {name for name in _unbounded(path) if name not in _ENDS} == set()


def test_what_is_excused_is_still_there() -> None:
    found = {name for path in product_files() for name in _unbounded(path)}
    assert set(_ENDS) - found == set()
