"""The API key of a stack is in two places and nowhere else: AWS's SecureString, and a 0600 file on the box."""

from __future__ import annotations

import base64
import gzip
import json
import os
from pathlib import Path

import pytest

from tests.rehearse.support import ROOT, Sandbox

SPEC = "stacks/g5-27b-mtp.yaml"


def _files_with(folder: Path, needle: bytes) -> list[Path]:
    """Files below the folder that contain the needle, plainly or inside gzip."""
    found = []
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink():
            continue
        content = path.read_bytes()
        if content[:2] == b"\x1f\x8b":
            content += gzip.decompress(content)
        if needle in content or base64.b64encode(needle) in content:
            found.append(path)
    return found


def _processes_with(needle: bytes) -> list[str]:
    """Processes that have the needle in their arguments or their environment."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        for part in ("cmdline", "environ"):
            try:
                if needle in (entry / part).read_bytes():
                    found.append(f"{entry.name} {part}")
            except OSError:
                continue
    return found


@pytest.mark.deep
def test_a_known_key_is_nowhere_it_should_not_be(sandbox: Sandbox, tmp_path: Path) -> None:
    said = ["".join(sandbox.run("up", SPEC, "--json"))]
    exports = json.loads(sandbox.run("env", "--json")[0])
    key = exports["OPENAI_API_KEY"]
    needle = key.encode()
    assert len(key) >= 32

    said += [
        "".join(sandbox.run(*command)) for command in (("up", SPEC), ("status", "--json"), ("ls",), ("plan", SPEC))
    ]
    sandbox.run("render", SPEC, "--out", str(tmp_path / "rendered"))
    assert [text for text in said if key in text] == [], "an event, a document or a line of text"
    assert _files_with(tmp_path / "rendered", needle) == [], "a rendered file"
    assert sandbox.ask("search", {"needle": key})["places"] == [], "a request, a record, a tag, user-data or a console"
    assert _processes_with(needle) == [], "an argument or an environment"

    holders = _files_with(sandbox.state, needle)
    assert [path.name for path in holders] == ["api-key"], "the box"
    assert holders[0].stat().st_mode & 0o777 == 0o600

    sandbox.run("down")
    assert _files_with(sandbox.state, needle) == []
    assert sandbox.ask("search", {"needle": key})["places"] == []


@pytest.mark.deep
def test_the_search_finds_what_is_there(sandbox: Sandbox) -> None:
    """A search that finds nothing proves nothing unless it can find something."""
    sandbox.run("up", SPEC)
    assert sandbox.ask("search", {"needle": "g5-27b-mtp"})["places"]
    assert _files_with(sandbox.state, b"deployer-agent")
    assert _processes_with(b"llama-server") or _processes_with(b"deployer_agent")
    assert (ROOT / SPEC).is_file()
