from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.engine.dialect import dialect
from deployer.engine.extra_args import OWNED, REFUSED, check_extra_args

LANGUAGE = dialect()


def messages(*args: object) -> list[str]:
    return [f"{p.index}: {p.message}" + (f" ({p.hint})" if p.hint else "") for p in check_extra_args(args, LANGUAGE)]


@pytest.mark.parametrize(
    "args",
    [
        [],
        ["--temp", "0.7", "--seed", "-1"],
        ["--load-mode", "mlock"],
        ["--numa", "distribute"],
        ["--jinja"],
        ["--cache-ram", "0"],
        ["--cache_ram", "0"],
        ["-tb", "16"],
        ["--override-kv", "a.b=int:1"],
        ["--control-vector-layer-range", "1", "2"],
        ["-sm", "tensor"],
        ["--temp", "-0.5", "--chat-template", "a = b -c"],
    ],
)
def test_accepted(args: list[str]) -> None:
    assert messages(*args) == []


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["-c", "4096"], "0: `-c` is set by deployer; use engine.context"),
        (["--port", "8080"], "0: `--port` is set by deployer; use endpoint.port"),
        (["--port=80"], "0: `--port` is set by deployer; use endpoint.port"),
        (["-np 4"], "0: `-np` is set by deployer; use engine.parallel"),
        (["--ctx_size", "4096"], "0: `--ctx_size` is set by deployer; use engine.context"),
        (["-hf", "a/b"], "0: `-hf` is set by deployer; use model.source and model.file"),
        (["-mu", "u"], "0: `-mu` is set by deployer; use model.source and model.file"),
        (["--spec-type", "none"], "0: `--spec-type` is set by deployer; use engine.mtp"),
        (["--spec-type", "mtp"], "0: `--spec-type` is set by deployer; use engine.mtp"),
        (["--draft-p-min", "0.5"], "0: `--draft-p-min` is set by deployer; use engine.mtp.draft_p_min"),
        (["-md", "x.gguf"], "0: `-md` is set by deployer; use engine.mtp"),
        (["-cmoed"], "0: `-cmoed` is set by deployer; use engine.mtp"),
        (["--api-key", "x"], "0: `--api-key` is refused: deployer makes the API key"),
        (["--api-key-something", "x"], "0: `--api-key-something` is refused: deployer makes the API key"),
        (["-ag"], "0: `-ag` is refused: it lets a request run commands on the instance"),
        (["--tools", "all"], "0: `--tools` is refused: it lets a request run commands on the instance"),
        (["--webui-mcp-proxy"], "0: `--webui-mcp-proxy` is refused: it opens a proxy"),
        (["--mcp-servers-json", "{}"], "0: `--mcp-servers-json` is refused: it starts programs"),
        (["--embeddings"], "0: `--embeddings` is refused: a stack is ready when it has completed a chat"),
        (["-cl"], "0: `-cl` is refused: llama-server would print something and end"),
        (["--sleep-idle-seconds", "60"], "0: `--sleep-idle-seconds` is refused: CVE-2026-43631"),
        (["--tempp", "1"], '0: llama.cpp b11549 does not know --tempp — did you mean "--temp"?'),
        (["--tempp=1"], '0: llama.cpp b11549 does not know --tempp — did you mean "--temp"?'),
        (["--temp"], "0: --temp needs a value"),
        (["--load-mode", "fast"], "1: --load-mode does not take 'fast'"),
        (["--temp 0.7"], '0: one word an entry: ["--temp", "0.7"]'),
        (["--temp = 0.7"], '0: one word an entry: ["--temp", "0.7"]'),
        (["--temp=0.7"], '0: llama-server takes no `=`; write ["--temp", "0.7"]'),
        (["--metrics=on"], '0: llama-server takes no `=`; write ["--metrics"]'),
        (["--metrics "], '0: one word an entry: ["--metrics"]'),
        (["0.7"], "0: '0.7' is a value without a flag"),
        (["--jinja", "on"], "1: 'on' is a value without a flag"),
    ],
)
def test_refused_once(args: list[str], expected: str) -> None:
    (message,) = messages(*args)
    assert message.startswith(expected)


@pytest.mark.parametrize(
    ("flag", "instead"),
    [
        ("--mmap", 'write ["--load-mode", "mmap"] (auto, none, mmap, mlock, mmap+mlock or dio)'),
        ("--no-mmap", 'write ["--load-mode", "auto"] (auto, none, mmap, mlock, mmap+mlock or dio)'),
        ("--mlock", 'write ["--load-mode", "mlock"]'),
        ("--direct-io", 'write ["--load-mode", "auto"]'),
        ("-dio", 'write ["--load-mode", "dio"]'),
        ("--draft", "use engine.mtp.draft_n_max"),
        ("--draft-n", "use engine.mtp.draft_n_max"),
        ("--draft-max", "use engine.mtp.draft_n_max"),
        ("--draft-min", "use engine.mtp"),
        ("--draft-n-min", "use engine.mtp"),
        ("--spec-ngram-size-n", "use engine.mtp"),
    ],
)
def test_removed_flags_name_what_can_be_written_instead(flag: str, instead: str) -> None:
    (message,) = messages(flag, "1")
    assert message.startswith(f"0: `{flag}` was removed from llama.cpp; {instead}")


@pytest.mark.parametrize("flag", sorted(LANGUAGE.removed))
def test_every_removed_flag_is_refused(flag: str) -> None:
    (message,) = messages(flag)
    assert "was removed from llama.cpp; " in message


def test_every_problem_is_told_in_order() -> None:
    found = check_extra_args(["--mmap", "--port", "1", "--nope"], LANGUAGE)
    assert [problem.index for problem in found] == [0, 1, 3]


def test_a_forgotten_value_hides_nothing() -> None:
    found = check_extra_args(["-c", "--port", "80", "--temp", "--tools", "--seed", "1"], LANGUAGE)
    assert [problem.index for problem in found] == [0, 1, 4]


def test_values_go_with_their_flag() -> None:
    found = check_extra_args(["--nope", "1", "2", "--flash-attn", "maybe", "--seed", "1", "stray"], LANGUAGE)
    assert [problem.index for problem in found] == [0, 3, 7]


def test_no_key_is_repeated() -> None:
    assert "hidden" not in " ".join(messages("--api-key=hidden", "--api-key", "hidden", "--hf-token hidden"))


def test_entries_that_are_no_text_are_left_to_the_type_check() -> None:
    assert messages("--load-mode", 3, None, ["--port"]) == []


@pytest.mark.parametrize("table", [OWNED, REFUSED])
def test_the_tables_name_real_flags(table: dict[str, str]) -> None:
    assert set(table) <= set(LANGUAGE.flags)


@pytest.mark.parametrize("name", [*OWNED, *REFUSED])
def test_every_name_of_a_flag_is_refused(name: str) -> None:
    flag = LANGUAGE.flags[name]
    for alias in flag.names:
        (message,) = messages(alias, *["1"] * flag.takes)
        assert message.startswith(f"0: `{alias}` is ")


@given(st.lists(st.one_of(st.text(max_size=12), st.sampled_from(sorted(LANGUAGE.flags)), st.none()), max_size=8))
def test_any_words_are_told_at_most_once_and_on_one_line(args: list[object]) -> None:
    found = check_extra_args(args, LANGUAGE)
    places = [problem.index for problem in found]
    assert places == sorted(set(places))
    assert all(isinstance(args[index], str) for index in places)
    assert all(problem.message.isprintable() for problem in found)
