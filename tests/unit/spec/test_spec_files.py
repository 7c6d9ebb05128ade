"""From a file on disk: everything that can be wrong before the first line is read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from deployer.errors import SpecError
from deployer.settings import Settings
from deployer.spec.load import load_spec
from tests.unit.spec.helpers import EC2

SETTINGS = Settings.from_env({"HOME": "/home/op", "DEPLOYER_HOME": "/home/op/deployer"})


def refusal(path: Path) -> tuple[str, str | None]:
    with pytest.raises(SpecError) as raised:
        load_spec(path, SETTINGS)
    return str(raised.value), raised.value.hint


def test_missing_file_names_its_neighbour(tmp_path: Path) -> None:
    (tmp_path / "g5-27b.yaml").write_text(EC2)
    path = tmp_path / "g5-27.yaml"
    assert refusal(path) == (f"{path}:1:1: no such file", f"did you mean {tmp_path / 'g5-27b.yaml'}?")


def test_missing_folder(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "x.yaml"
    assert refusal(path) == (f"{path}:1:1: no such file", None)


def test_folder(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(EC2)
    assert refusal(tmp_path) == (f"{tmp_path}:1:1: is a directory, not a spec file", "it holds a.yaml")


def test_larger_than_a_mebibyte(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(EC2.encode() + b"#" * (1024 * 1024))
    assert refusal(path)[0] == f"{path}:1:1: is larger than 1 MiB, so it is no stack spec"


def test_an_endless_file_is_not_read_to_its_end() -> None:
    assert "larger than 1 MiB" in refusal(Path("/dev/zero"))[0]


def test_not_utf8_points_at_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes("name: demo\n# Größe ".encode() + b"\xfc\n")
    assert refusal(path)[0] == f"{path}:2:9: byte 0xfc is not UTF-8 text; save the file as UTF-8"


def test_utf16(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(EC2.encode("utf-16"))
    assert refusal(path)[0] == f"{path}:1:1: is UTF-16 text; save it as UTF-8"


def test_byte_order_mark_is_fine_and_does_not_shift_columns(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + EC2.encode())
    assert load_spec(path, SETTINGS).locate("name") == (1, 7)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings(tmp_path: Path, newline: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_bytes((EC2 + "engine:\n  context: few\n").replace("\n", newline).encode())
    assert refusal(path)[0] == f'{path}:6:12: engine.context: expected a whole number, got "few"'


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(EC2)
    path.chmod(0)
    assert refusal(path)[0] == f"{path}:1:1: cannot be read: Permission denied"


def test_a_name_no_file_can_have() -> None:
    assert refusal(Path("a\0b.yaml"))[0] == "a\\0b.yaml:1:1: is not a file name"
