"""Takes user-data apart as cloud-init does: gzip, `#cloud-config`, write_files, runcmd."""

from __future__ import annotations

import base64
import binascii
import gzip
import posixpath
import shlex
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HEADER = "#cloud-config"
DEFAULT_MODE = 0o644


class UserDataError(Exception):
    """The user-data, or one entry of it, cannot be used. Cloud-init says so on the console and goes on booting."""


@dataclass(frozen=True)
class FileEntry:
    """One entry of write_files, decoded. path: absolute on the machine. defer: written after everything else."""

    path: str
    content: bytes
    mode: int
    append: bool
    defer: bool


@dataclass(frozen=True)
class CloudConfig:
    """files: in writing order. commands: runcmd entries, a list of words or a line for a shell.

    problems: what was left out and why.
    """

    files: tuple[FileEntry, ...] = ()
    commands: tuple[tuple[str, ...] | str, ...] = ()
    problems: tuple[str, ...] = field(default=())


def parse(user_data: bytes) -> CloudConfig:
    """Read user-data as IMDS returns it; empty gives an empty CloudConfig. Raises UserDataError."""
    if not user_data.strip():
        return CloudConfig()
    document = _load(_text(user_data))
    problems: list[str] = []
    files: list[FileEntry] = []
    for number, entry in enumerate(_entries(document, "write_files")):
        try:
            files.append(_file_entry(entry))
        except UserDataError as error:
            problems.append(f"write_files[{number}]: {error}")
    commands: list[tuple[str, ...] | str] = []
    for number, entry in enumerate(_entries(document, "runcmd")):
        match entry:
            case str():
                commands.append(entry)
            case [_, *_]:
                commands.append(tuple(str(word) for word in entry))
            case _:
                problems.append(f"runcmd[{number}]: neither a list nor a string")
    files.sort(key=lambda entry: entry.defer)
    return CloudConfig(tuple(files), tuple(commands), tuple(problems))


def write_files(files: Sequence[FileEntry], root: Path) -> None:
    """Write each file below root, with its mode; folders are made as needed. Ownership is left to the current user."""
    for entry in files:
        path = root / entry.path.lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab" if entry.append else "wb") as stream:
            stream.write(entry.content)
        path.chmod(entry.mode)


def _text(user_data: bytes) -> str:
    if user_data.startswith(b"\x1f\x8b"):
        try:
            user_data = gzip.decompress(user_data)
        except (OSError, EOFError, zlib.error) as error:
            raise UserDataError(f"not a whole gzip stream: {error}") from None
    try:
        text = user_data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserDataError(f"not UTF-8: {error}") from None
    first = text.lstrip().partition("\n")[0].rstrip()
    if first != HEADER:
        raise UserDataError(f"only {HEADER} is understood here, this begins with {first[:40]!r}")
    return text


def _load(text: str) -> dict[str, Any]:
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    loader = YAML(typ="safe", pure=True)
    loader.version = (1, 1)  # what cloud-init's own parser speaks
    try:
        document = loader.load(text)
    except YAMLError as error:
        raise UserDataError(f"failed loading YAML: {error}") from None
    if not isinstance(document, dict):
        raise UserDataError("the document is not a mapping")
    return document


def _entries(document: dict[str, Any], key: str) -> list[Any]:
    found = document.get(key) or []
    if not isinstance(found, list):
        raise UserDataError(f"{key} is not a list")
    return found


def _file_entry(entry: Any) -> FileEntry:
    if not isinstance(entry, dict) or not isinstance(entry.get("path"), str) or not entry["path"].startswith("/"):
        raise UserDataError("an absolute path is needed")
    path = posixpath.normpath(entry["path"])
    return FileEntry(
        path=path,
        content=_content(entry.get("content", ""), str(entry.get("encoding") or "text/plain")),
        mode=_mode(entry.get("permissions")),
        append=bool(entry.get("append", False)),
        defer=bool(entry.get("defer", False)),
    )


def _content(content: Any, encoding: str) -> bytes:
    raw = content if isinstance(content, bytes) else str(content).encode()
    try:
        match encoding.lower().replace("gzip", "gz").replace("base64", "b64"):
            case "text/plain":
                return raw
            case "b64":
                return _unbase64(raw)
            case "gz":
                return gzip.decompress(raw)
            case "gz+b64":
                return gzip.decompress(_unbase64(raw))
            case _:
                raise UserDataError(f"unknown encoding {encoding!r}")
    except (binascii.Error, OSError, EOFError, zlib.error) as error:
        raise UserDataError(f"content is not {encoding}: {error}") from None


def _unbase64(raw: bytes) -> bytes:
    # Stricter than cloud-init, which skips what is not base64 and so writes something else than was meant.
    return base64.b64decode(b"".join(raw.split()), validate=True)


def _mode(permissions: Any) -> int:
    match permissions:
        case None:
            return DEFAULT_MODE
        case bool():
            raise UserDataError(f"permissions {permissions!r} are not a mode")
        case int():
            return permissions
        case _:
            try:
                return int(str(permissions), 8)
            except ValueError:
                raise UserDataError(f"permissions {permissions!r} are not octal") from None


def words_of(command: tuple[str, ...] | str) -> list[str]:
    """The words of a runcmd entry. A line for a shell counts as its words when no shell is needed to read it."""
    if not isinstance(command, str):
        return list(command)
    try:
        return [] if set(command) & set("|&;<>()$`*?~\n") else shlex.split(command)
    except ValueError:
        return []
