"""`deployer bench` against real llama.cpp, and its report in a real browser."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from deployer.clock import SystemClock
from deployer.errors import NotHealthyError
from deployer.events import Event
from deployer.measure.asking import Asker
from deployer.measure.cases import Wishes
from deployer.measure.numbers import Answer
from deployer.measure.run import run
from deployer.rehearsal.tiny_model import Variant, cached
from tests.rehearsal.engine import RunningEngine

_KEY = "sk-of-the-bench"
_QUICK = ("--runs", "2", "--max-tokens", "12", "--concurrency", "1,2", "--prompt-tokens", "64,100000")
_BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_DRIVER = shutil.which("chromedriver")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningEngine]:
    """One slot more than streams, MTP on."""
    folder = tmp_path_factory.mktemp("bench")
    keys = folder / "key"
    keys.write_text(_KEY)
    model = cached(tmp_path_factory.getbasetemp().parent / "models", Variant("qwen35"))
    words = f"-m {model} -c 2048 -np 2 --alias tiny --api-key-file {keys} --spec-type draft-mtp --spec-draft-n-max 2"
    running = RunningEngine(folder / "log", words.split(), key=_KEY).ready()
    yield running
    running.kill()


def _bench(*arguments: object, key: str | None = _KEY) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "deployer", "bench", *(str(word) for word in arguments)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        env={**os.environ, **({"OPENAI_API_KEY": key} if key else {})},
    )


@pytest.fixture(scope="module")
def measured(engine: RunningEngine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a whole result in every form."""
    folder = tmp_path_factory.mktemp("measured")
    files = ("--save", folder / "a.json", "--html", folder / "a.html", "--markdown", folder / "a.md")
    done = _bench(f"http://127.0.0.1:{engine.port}", *_QUICK, *files)
    assert done.returncode == 0, done.stderr
    (folder / "stdout").write_text(done.stdout)
    return folder


def test_every_case_has_its_numbers(measured: Path) -> None:
    result = json.loads((measured / "a.json").read_text())
    rows = {row["name"]: row for row in result["rows"]}
    assert list(rows) == ["english", "chinese", "code", "1 at once", "2 at once", "64 tokens", "100000 tokens"]
    assert result["ended"] is None and result["model"] == "tiny"
    for name in ("english", "chinese", "code"):
        numbers = rows[name]["numbers"]
        assert (numbers["answers"], numbers["tokens"]) == (2, 24), "a fixed length, whatever the model says"
        assert 0 < numbers["acceptance"] <= 1
        assert 0 < numbers["first_token_seconds"]["low"] <= numbers["first_token_seconds"]["high"]
    assert rows["2 at once"]["numbers"]["answers"] == 4
    assert abs(rows["64 tokens"]["numbers"]["prompt_tokens"] - 64) <= 24, "the chat template adds some"
    assert rows["100000 tokens"]["numbers"] is None
    assert "context" in rows["100000 tokens"]["skipped"]
    assert "skipped: " in (measured / "stdout").read_text()
    assert (measured / "a.md").read_text().count("\n| ") == len(rows) + 2, "its head and the line below it too"


def test_two_results_side_by_side(measured: Path) -> None:
    same = _bench("--compare", measured / "a.json", measured / "a.json", "--json")
    assert same.returncode == 0, same.stderr
    changes = {row["what"]: row for row in json.loads(same.stdout)["differences"]}
    assert {"tok/s", "tok/s together", "first token s", "prompt tok/s", "accepted drafts"} == changes.keys()
    assert not any(row["apart"] for row in changes.values())


@pytest.mark.parametrize(
    ("arguments", "key", "code", "words"),
    [
        (["{url}"], "sk-wrong", 3, "does not take the API key"),
        (["{url}", "--model", "gpt"], _KEY, 3, "serves tiny, not gpt"),
        (["{url}/nowhere/v1"], _KEY, 3, "no such path or model"),
        (["http://127.0.0.1:9"], _KEY, 6, "does not answer"),
        (["http://[::1"], _KEY, 6, "does not answer"),
        (["http://me:hunter2@127.0.0.1:9"], _KEY, 2, "a user or password"),
        (["{url}", "--concurrency", "0"], _KEY, 2, "between 1 and"),
        (["{url}", "--html", "/nowhere/at/all/a.html"], _KEY, 2, "no folder"),
        (["--compare", "/nowhere/a.json", "/nowhere/b.json"], _KEY, 2, "cannot be read"),
    ],
)
def test_what_cannot_be_measured_is_told_at_once(
    engine: RunningEngine, arguments: list[str], key: str, code: int, words: str
) -> None:
    done = _bench(*(word.format(url=f"http://127.0.0.1:{engine.port}") for word in arguments), key=key)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "hunter2" not in done.stderr
    assert words in done.stderr and "Traceback" not in done.stderr


class _Gone(Asker):
    """An endpoint that goes away after some answers."""

    left = 3

    def ask(self, model: str, prompt: str, max_tokens: int) -> Answer:
        self.left -= 1
        if self.left < 0:
            raise NotHealthyError("the endpoint does not answer")
        return Answer(0.1, max_tokens, 10.0, 5, 50.0)

    def count_tokens(self, text: str) -> int | None:
        return None


def test_an_endpoint_that_goes_away_costs_only_what_is_left() -> None:
    events: list[Event] = []
    asker = _Gone("http://127.0.0.1:9/v1", None, SystemClock().monotonic)
    result = run(asker, "box", "m", Wishes(1, 8, (1,), (64,)), SystemClock(), events.append)
    assert [row.name for row in result.rows] == ["english", "chinese"]
    assert result.ended == "the endpoint does not answer"
    assert events[-1].name == "warning" and "measured until then" in str(events[-1].fields["message"])
    asker.left = 1
    with pytest.raises(NotHealthyError):
        run(asker, "box", "m", Wishes(1, 8, (1,), (64,)), SystemClock(), events.append)


@pytest.mark.skipif(not (_BROWSER and _DRIVER), reason="needs chromium and chromedriver")
def test_a_browser_shows_the_plots_and_has_nothing_to_complain_about(measured: Path, tmp_path: Path) -> None:
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    options.binary_location = str(_BROWSER)
    quiet = "disable-gpu disable-quic no-first-run disable-background-networking disable-component-update disable-sync"
    for word in ("headless", "no-sandbox", *quiet.split(), f"user-data-dir={tmp_path}"):
        options.add_argument(f"--{word}")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(str(_DRIVER)))
    try:
        browser.get((measured / "a.html").as_uri())
        plots = browser.find_elements("css selector", "svg.plot")
        titles = [plot.find_element("css selector", "title").get_attribute("textContent") for plot in plots]
        assert titles == [
            "Speed of one stream",
            "Speed with several streams",
            "First token with several streams",
            "First token of a long prompt",
        ]
        for plot in plots:
            assert plot.size["width"] > 300 and plot.size["height"] > 150
            dots = plot.find_elements("css selector", "g circle")
            assert dots and all(dot.size["width"] > 2 for dot in dots)
        assert len(browser.find_elements("css selector", "tbody tr")) == 7
        assert browser.get_log("browser") == []
        assert _requests(browser) - {"chrome"} == {"file", "data"}, "chrome: its own first tab"
        # A narrow window scrolls the table, never the page.
        browser.set_window_size(500, 900)
        assert browser.execute_script("return document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        browser.quit()


def _requests(browser: Any) -> set[str]:
    """The schemes of everything the page asked for."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
    return {url.partition(":")[0] for url in sent}
