"""Unit files as systemd reads them, hostile quoting included."""

from __future__ import annotations

import pytest

from deployer.rehearsal.machines.timers import parse_timer
from deployer.rehearsal.machines.unit_syntax import UnitError, span, split_words
from deployer.rehearsal.machines.units import expand, parse_unit


def unit(service: str, install: str = ""):
    return parse_unit("x.service", f"[Unit]\nDescription=x\n[Service]\n{service}\n[Install]\n{install}\n")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("a b  c", ["a", "b", "c"]),
        ("'a b' \"c d\"", ["a b", "c d"]),
        ("a'b c'd", ["ab cd"]),
        ("''", [""]),
        ('"it\'s" \'say "hi"\'', ["it's", 'say "hi"']),
        (r'"a\"b" \x41\102\u00e9\U0001F600', ['a"b', "ABé😀"]),
        (r"a\tb\s\\c", ["a\tb \\c"]),
        (r"\q", [r"\q"]),
        ("$(rm -rf /) ; `id` | & >x", ["$(rm", "-rf", "/)", ";", "`id`", "|", "&", ">x"]),
        ("", []),
    ],
)
def test_words(line, words):
    assert split_words(line) == words


@pytest.mark.parametrize("line", ["'a", 'a "b', "a'"])
def test_an_open_quote_is_refused(line):
    with pytest.raises(UnitError, match="unbalanced"):
        split_words(line)


def test_a_whole_service():
    found = unit(
        "ExecStart=-/usr/bin/python3 -m agent \\\n# between\n  --name 'a b' 100%% ${A} $B $$C x$D\n"
        "Environment=A=one \"B=two  words\" 'C=it''s'\nEnvironment=D=four\n"
        "Restart=on-failure\nRestartSec=1min 5s\nTimeoutStopSec=15\nSuccessExitStatus=143 SIGKILL\n"
        "StandardOutput=journal+console\nKillMode=mixed\nStartLimitBurst=3\nStartLimitIntervalSec=600",
        "WantedBy=multi-user.target other.target",
    )
    assert found.environment == {"A": "one", "B": "two  words", "C": "its", "D": "four"}
    assert expand(found.command, found.environment) == [
        "/usr/bin/python3", "-m", "agent", "--name", "a b", "100%", "one", "two", "words", "$C", "x$D",
    ]  # fmt: skip
    assert (found.restart, found.restart_seconds, found.stop_seconds) == ("on-failure", 65.0, 15.0)
    assert found.success == {143, -9}
    assert (found.console, found.kill_all, found.start_limit) == (True, False, (3, 600.0))
    assert found.wanted_by == ("multi-user.target", "other.target")


@pytest.mark.parametrize("mark", ["\x85", "\u2028", "\x0b", "\x0c", "\x1c"])
def test_only_a_line_feed_ends_a_line(mark):
    found = unit(f"ExecStart=/bin/echo a{mark}Type=b {mark}\nEnvironment=A=x{mark}y")
    assert found.command == ("/bin/echo", f"a{mark}Type=b", mark)
    assert found.environment == {"A": f"x{mark}y"}


def test_defaults_are_systemds():
    found = unit("ExecStart=/bin/true")
    assert (found.restart, found.restart_seconds, found.stop_seconds, found.start_limit) == ("no", 0.1, 90.0, (5, 10.0))
    assert found.kill_all
    assert not found.console


def test_an_empty_assignment_forgets_and_the_last_one_wins():
    assert unit("ExecStart=/bin/a\nExecStart=\nExecStart=/bin/b").command == ("/bin/b",)
    assert unit("ExecStart=/bin/a\nRestart=always\nRestart=no").restart == "no"


def test_an_unset_variable_vanishes_as_a_word_and_is_empty_within_one():
    assert expand(("a", "$NONE", "x${NONE}y"), {}) == ["a", "xy"]


def test_specifiers():
    found = unit("ExecStart=/bin/a %n %N %t/x %S %L %%n")
    assert found.command == ("/bin/a", "x.service", "x", "/run/x", "/var/lib", "/var/log", "%n")


@pytest.mark.parametrize(
    "service",
    [
        "",
        "ExecStart=/bin/a\nExecStart=/bin/b",
        "ExecStart=/bin/a %z",
        "ExecStart=/bin/a 'b",
        "ExecStart=/bin/a\nType=notify",
        "ExecStart=/bin/a\nRestart=perhaps",
        "ExecStart=/bin/a\nRestartSec=soon",
    ],
)
def test_refused(service):
    with pytest.raises(UnitError):
        unit(service)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("5", 5), ("5s", 5), ("500ms", 0.5), ("1min 30s", 90), ("2h", 7200), ("1.5min", 90), ("infinity", float("inf"))],
)
def test_spans(text, seconds):
    assert span(text) == seconds


def test_timers():
    text = "[Timer]\nOnCalendar=2027-01-15 08:00:00 UTC\nPersistent=true\n[Install]\nWantedBy=timers.target\n"
    timer = parse_timer("end.timer", text)
    assert (timer.unit, timer.wanted_by) == ("end.service", ("timers.target",))
    assert timer.at == 1_800_000_000.0
    assert timer.due(0.0) == timer.due(1.9e9) == 1_800_000_000.0
    assert parse_timer("end.timer", text.replace("Persistent=true", "")).due(1.9e9) is None
    assert parse_timer("a.timer", "[Timer]\nOnActiveSec=2min\nUnit=b.service\n").due(100.0) == 220.0


@pytest.mark.parametrize("timer", ["", "OnCalendar=daily", "OnCalendar=2027-01-15 08:00:00 UTC\nOnActiveSec=1"])
def test_timers_that_are_not_one_moment(timer):
    with pytest.raises(UnitError):
        parse_timer("x.timer", f"[Timer]\n{timer}\n")
