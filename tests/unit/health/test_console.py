from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from deployer.agent.protocol import encode_line
from deployer.errors import BootstrapError
from deployer.health.agent import BASE_SECONDS, AgentPhases
from deployer.health.console import ConsoleReader
from tests.support.ssh_server import new_ed25519, public

HOST_KEY = public(new_ed25519())
STORY = [
    ("boot", "start", {}),
    ("boot", "done", {"host_keys": [HOST_KEY], "seconds": 0.2}),
    ("driver", "skipped", {"message": "no GPU is expected"}),
    ("image", "start", {}),
    ("weights", "start", {}),
    ("weights", "progress", {"percent": 40, "bytes": 4_000_000_000, "total_bytes": 10_000_000_000}),
    ("image", "done", {"seconds": 9.0}),
    ("weights", "progress", {"percent": 80, "bytes": 8_000_000_000, "total_bytes": 10_000_000_000}),
    ("weights", "done", {"percent": 100, "seconds": 100.0}),
    ("engine", "start", {}),
    ("engine", "done", {"pid": 7}),
    ("ready", "start", {}),
    ("ready", "done", {"detail": {"predicted_per_second": 30.5, "devices": ["CUDA0 A10G"]}}),
]


def _console(story, *, start=0.0, end="\r\n") -> str:
    noise = "[   12.5] systemd[1]: Started something.\r\n"
    return noise + "".join(
        encode_line(phase, state, start + number, **fields) + end + (noise if number % 3 == 0 else "")
        for number, (phase, state, fields) in enumerate(story)
    )


def _watch(texts, **options):
    events, current = [], [""]
    probe = AgentPhases(lambda: current[0], events.append, **options)
    seen = None
    for text in texts:
        current[0] = text
        seen = probe.check()
    return probe, seen, [(event.fields["phase"], event.fields["state"]) for event in events]


WHOLE = _console(STORY)
IN_ORDER = [(phase, state) for phase, state, _ in STORY]


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12))
def test_cut_anywhere_the_phases_are_the_same_in_order_and_once(cuts):
    probe, seen, phases = _watch([*(WHOLE[:cut] for cut in sorted(cuts)), WHOLE, WHOLE])
    assert phases == IN_ORDER
    assert seen.state == "passed"
    assert probe.facts.ready["predicted_per_second"] == 30.5


@given(st.lists(st.integers(0, len(WHOLE)), max_size=12), st.integers(200, 4000))
def test_a_sliding_tail_never_repeats_or_reorders(cuts, size):
    _, _, phases = _watch(WHOLE[max(0, cut - size) : cut] for cut in [*sorted(cuts), len(WHOLE)])
    left = iter(IN_ORDER)
    assert all(phase in left for phase in phases)


@given(st.binary(max_size=300))
def test_noise_is_never_a_phase(noise):
    assert ConsoleReader().read(noise.decode("utf-8", "replace")) == []


def test_facts_survive_the_loss_of_the_beginning():
    probe, _, _ = _watch([WHOLE[:900], WHOLE[-400:]])
    assert probe.facts.host_keys == (HOST_KEY,)
    assert probe.facts.ready["devices"] == ["CUDA0 A10G"]


def test_waiting_tells_what_goes_on():
    _, seen, _ = _watch([_console(STORY[:6])])
    assert seen.text == "image, weights 40 % (4.00 of 10.00 GB)"
    assert _watch([""])[1].text == "the console shows nothing of the agent yet"


def test_a_failure_is_typed_with_hint_and_log():
    line = ("engine", "failed", {"code": "out_of_memory", "message": "killed", "log": ["cuda \x1b[31mmalloc", "bye"]})
    _, seen, _ = _watch([_console([*STORY[:9], line])])
    assert seen.state == "failed"
    assert isinstance(seen.error, BootstrapError)
    assert seen.error.failure_code == "out_of_memory"
    assert "engine.context" in seen.error.hint
    assert seen.error.log == ("cuda [31mmalloc", "bye")


def test_history_of_an_earlier_boot_does_not_fail_a_later_one():
    failed = ("weights", "failed", {"code": "weights_download", "message": "no route"})
    text = _console([*STORY[:5], failed]) + _console(STORY[:5], start=100)
    _, seen, _ = _watch([text])
    assert seen.state == "waiting"
    _, seen, _ = _watch([text, text + _console(STORY[5:], start=200)])
    assert seen.state == "passed"


def test_a_failure_that_is_watched_counts_even_when_the_agent_starts_again():
    failed = ("weights", "failed", {"code": "weights_download", "message": "no route"})
    first = _console(STORY[:5])
    _, seen, _ = _watch([first, first + _console([failed, *STORY[:2]], start=100)])
    assert seen.state == "failed"


def test_an_engine_that_restarts_is_not_ready_until_it_is_again():
    restarting = ("engine", "restarting", {"message": "exit 139"})
    _, seen, _ = _watch([WHOLE, WHOLE + _console([restarting], start=50)])
    assert seen.state == "waiting"
    assert seen.text == "engine restarting exit 139"
    _, seen, _ = _watch([WHOLE, WHOLE + _console([restarting, *STORY[-4:]], start=50)])
    assert seen.state == "passed"


def test_the_deadline_grows_with_the_weights_and_with_a_slow_download():
    probe = AgentPhases(str, lambda _: None, weights_bytes=20_000_000_000)
    assert probe.deadline_seconds == BASE_SECONDS + 1000 + 200
    slow = _console(STORY[:5]) + encode_line(
        "weights", "progress", 504.0, bytes=1_000_000_000, total_bytes=20_000_000_000
    )
    probe, _, _ = _watch([slow], weights_bytes=20_000_000_000)
    assert probe.deadline_seconds == BASE_SECONDS + 10_000 + 200
