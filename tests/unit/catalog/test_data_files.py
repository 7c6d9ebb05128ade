from __future__ import annotations

import json
import re
import subprocess
import sys
from datetime import date
from importlib import resources
from pathlib import Path

import pytest

from deployer.catalog.source import cite, document

FILES = ["hardware", "models", "partitions", "mirrors", "dialects", "images", "prices", "prompts", "throughput"]
ROOT = Path(__file__).parents[3]


def test_every_data_file_is_known_here() -> None:
    there = {path.name for path in resources.files("deployer.catalog.data").iterdir() if path.name.endswith(".json")}
    assert there == {f"{name}.json" for name in FILES}


@pytest.mark.parametrize("name", FILES)
def test_source_and_date(name: str) -> None:
    parsed = document(name)
    assert len(parsed["source"]) > 20
    assert date.fromisoformat(parsed["date"]) <= date(2027, 12, 31)
    assert parsed["date"] in cite(name)


@pytest.mark.parametrize("name", FILES)
def test_no_duplicate_keys(name: str) -> None:
    def unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
        keys = [key for key, _ in pairs]
        assert len(keys) == len(set(keys)), keys
        return dict(pairs)

    text = resources.files("deployer.catalog.data").joinpath(f"{name}.json").read_text(encoding="utf-8")
    json.loads(text, object_pairs_hook=unique)


def test_only_the_partition_file_names_partitions() -> None:
    suffix = re.compile(r"arn:aws|amazonaws\.com")
    for name in FILES:
        text = resources.files("deployer.catalog.data").joinpath(f"{name}.json").read_text(encoding="utf-8")
        assert bool(suffix.search(text)) == (name == "partitions"), name


def test_the_hardware_file_is_what_its_script_makes() -> None:
    done = subprocess.run([sys.executable, "bench/make_hardware_catalog.py", "--check"], cwd=ROOT, timeout=60)
    assert done.returncode == 0, "run bench/make_hardware_catalog.py"
