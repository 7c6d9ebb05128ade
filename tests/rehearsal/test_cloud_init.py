"""User-data, good and bad."""

from __future__ import annotations

import base64
import gzip

import pytest

from deployer.rehearsal.machines import cloud_init
from deployer.rehearsal.machines.cloud_init import UserDataError, parse, words_of

GZ = base64.b64encode(gzip.compress(b"packed\n", mtime=0)).decode()


def one(entry: str) -> cloud_init.FileEntry:
    config = parse(f"#cloud-config\nwrite_files:\n- {entry}\n".encode())
    assert config.problems == ()
    return config.files[0]


@pytest.mark.parametrize(
    ("entry", "content", "mode"),
    [
        ("{path: /a, content: plain}", b"plain", 0o644),
        ("{path: /a}", b"", 0o644),
        ("{path: /a, content: aGk=, encoding: b64}", b"hi", 0o644),
        ("{path: /a, content: aGk=, encoding: base64, permissions: '0600'}", b"hi", 0o600),
        (f"{{path: /a, content: {GZ}, encoding: gz+b64, permissions: 0755}}", b"packed\n", 0o755),
        (f"{{path: /a, content: {GZ}, encoding: gzip+base64}}", b"packed\n", 0o644),
        (f"{{path: /a, content: !!binary {GZ}, encoding: gz}}", b"packed\n", 0o644),
        ("{path: /a, content: x, encoding: text/plain}", b"x", 0o644),
        ("{path: /a, content: 'schön'}", "schön".encode(), 0o644),
    ],
)
def test_encodings_and_permissions(entry, content, mode):
    found = one(entry)
    assert (found.content, found.mode) == (content, mode)


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{content: x}", "an absolute path is needed"),
        ("{path: a/b}", "an absolute path is needed"),
        ("{path: /a, content: '***', encoding: gz+b64}", "content is not gz+b64"),
        ("{path: /a, content: x, encoding: rot13}", "unknown encoding 'rot13'"),
        ("{path: /a, permissions: rw}", "not octal"),
        ("just text", "an absolute path is needed"),
    ],
)
def test_one_bad_file_does_not_stop_the_others(entry, problem):
    config = parse(f"#cloud-config\nwrite_files:\n- {entry}\n- {{path: /ok}}\n".encode())
    assert [found.path for found in config.files] == ["/ok"]
    assert len(config.problems) == 1
    assert problem in config.problems[0]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"#!/bin/sh\necho hi\n", "only #cloud-config"),
        (b"#cloud-config\na: [", "failed loading YAML"),
        (b"#cloud-config\n- a\n", "not a mapping"),
        (b"#cloud-config\nwrite_files: {}\nruncmd: yes\n", "runcmd is not a list"),
        (b"\x1f\x8b broken", "gzip"),
        (gzip.compress(b"#cloud-config\n{}", mtime=0)[:-6], "gzip"),
        (b"#cloud-config\n\xff", "UTF-8"),
    ],
)
def test_user_data_that_cannot_be_used(data, problem):
    with pytest.raises(UserDataError, match=problem):
        parse(data)


@pytest.mark.parametrize("data", [b"", b"\n", b"#cloud-config\n{}\n", b"#cloud-config\nwrite_files:\nruncmd:\n"])
def test_nothing_to_do(data):
    assert parse(data) == cloud_init.CloudConfig()


def test_commands_are_lists_or_lines():
    config = parse(b"#cloud-config\nruncmd:\n- [a, 1, 'b c']\n- echo hi\n- {x: y}\n- []\n")
    assert config.commands == (("a", "1", "b c"), "echo hi")
    assert len(config.problems) == 2


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("a", "b c"), ["a", "b c"]),
        ("systemctl start 'x y'", ["systemctl", "start", "x y"]),
        ("echo $(reboot)", []),
        ("a | b", []),
        ("a 'b", []),
    ],
)
def test_a_line_counts_as_words_only_when_no_shell_is_needed(command, words):
    assert words_of(command) == words


def test_writing_appends_defers_and_stays_below_the_root(tmp_path):
    config = parse(
        b"#cloud-config\nwrite_files:\n"
        b"- {path: /late, content: b, defer: true, append: true}\n"
        b"- {path: /late, content: a}\n"
        b"- {path: /deep/er/x, content: y, permissions: '0600'}\n"
        b"- {path: /../../../../escape, content: z}\n"
    )
    cloud_init.write_files(config.files, tmp_path / "root")
    assert (tmp_path / "root/late").read_text() == "ab"
    assert (tmp_path / "root/deep/er/x").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "root/escape").read_text() == "z"
    assert [path.name for path in tmp_path.iterdir()] == ["root"]
