from __future__ import annotations

import stat
from dataclasses import replace

from deployer.settings import Settings
from deployer.targets.local_state import LocalRecord, box_paths, stack_folder, stack_folders

RECORD = LocalRecord("tiny", "0" * 16, "1" * 16, 1, 1_800_000_000.0, 18081, "http://127.0.0.1:18081/v1", "tiny")


def _settings(home) -> Settings:
    return Settings.from_env({"DEPLOYER_HOME": str(home)})


def test_only_the_owner_reads_what_is_written(tmp_path):
    folder = stack_folder(_settings(tmp_path), "tiny")
    key = folder.ensure_api_key()
    folder.write_record(RECORD)
    folder.write_config({"v": 1})
    assert folder.ensure_api_key() == key
    assert stat.S_IMODE(folder.path.stat().st_mode) == 0o700
    files = sorted(path.name for path in folder.path.iterdir())
    assert files == ["agent.json", "api-key", "record.json"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.path.iterdir()} == {0o600}


def test_a_record_comes_back_and_a_broken_one_is_none(tmp_path):
    folder = stack_folder(_settings(tmp_path), "tiny")
    assert folder.record() is None
    folder.write_record(replace(RECORD, pid=7, start="8"))
    assert folder.record() == replace(RECORD, pid=7, start="8")
    for text in ("", "{", "[]", '{"stack": "tiny"}'):
        folder.record_file.write_text(text)
        assert folder.record() is None


def test_stacks_are_folders_with_a_stacks_name(tmp_path):
    settings = _settings(tmp_path)
    assert stack_folders(settings) == []
    for name in ("b", "a", ".hidden", "Not-A-Name"):
        (tmp_path / "stacks" / name).mkdir(parents=True)
    (tmp_path / "stacks" / "a.lock").touch()
    assert [folder.name for folder in stack_folders(settings)] == ["a", "b"]
    assert box_paths(settings, "a").api_key_file == str(tmp_path / "stacks" / "a" / "api-key")
