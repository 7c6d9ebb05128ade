from __future__ import annotations

import socket

import pytest

from deployer.access.errors import SshError
from deployer.errors import AwsError, NotHealthyError
from deployer.health.accelerator import AcceleratorUsed
from deployer.health.client import EngineClient
from deployer.health.completion import Completion, RealCompletion
from deployer.health.engine import EngineHealth
from deployer.health.instance import InstanceRunning
from deployer.health.ladder import climb
from deployer.health.models import ModelListed
from deployer.health.mtp import DraftsAccepted
from deployer.health.port import PortAnswers
from deployer.health.speed import Speed
from tests.support.clock import FakeClock
from tests.support.engine_server import KEY, EngineServer, EngineState


@pytest.fixture
def state():
    return EngineState()


@pytest.fixture
def server(state):
    with EngineServer(state) as running:
        yield running


@pytest.fixture
def client(server):
    made = EngineClient(lambda: server.url + "/v1", KEY)
    yield made
    made.close()


def _rungs(url, events, *, key=KEY, alias="tiny", seconds=5.0):
    port = PortAnswers(lambda: url)
    client = EngineClient(port.base_url, key)
    completion = RealCompletion(client, events.append, alias=alias, request_seconds=seconds)
    return [port, EngineHealth(client), ModelListed(client, alias, 4096), completion]


def test_from_refused_over_loading_to_a_completion():
    state = EngineState(loading=True)
    with EngineServer(state, listening=False) as server:
        steps = {3.0: server.listen, 20.0: lambda: setattr(state, "loading", False)}

        def on_sleep(elapsed: float) -> None:
            for moment in [moment for moment in steps if moment <= elapsed]:
                steps.pop(moment)()

        events, clock = [], FakeClock(on_sleep=on_sleep)
        result = climb(_rungs(server.url, events), clock=clock, emit=events.append)
    assert [seen.state for _, seen in result] == ["passed"] * 4
    assert 20.0 <= clock.elapsed <= 22.1
    states = [(e.fields["rung"], e.fields["state"]) for e in events if e.name == "probe"]
    assert states == [
        ("port", "waiting"),
        ("port", "passed"),
        ("health", "waiting"),
        ("health", "passed"),
        ("models", "passed"),
        ("completion", "passed"),
    ]
    (completion,) = (e.fields for e in events if e.name == "completion")
    assert completion == {"text": "Hello.", "predicted_per_second": 42.5, "draft_n": 20, "draft_n_accepted": 15}


def _fails(url, **options) -> NotHealthyError:
    events, clock = [], FakeClock()
    with pytest.raises(NotHealthyError) as raised:
        climb(_rungs(url, events, **options), clock=clock, emit=events.append)
    raised.value.elapsed = clock.elapsed
    return raised.value


def test_a_refused_port_ends_exactly_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = _fails(f"http://127.0.0.1:{port}")
    assert error.elapsed == pytest.approx(PortAnswers.deadline_seconds)
    assert error.where == "port"


def test_loading_for_ever_ends_exactly_at_the_deadline(server, state):
    state.loading = True
    error = _fails(server.url)
    assert error.elapsed == pytest.approx(EngineHealth.deadline_seconds)
    assert "Loading model" in error.message


def test_router_mode_is_not_healthy_although_health_is_ok(server, state):
    state.alias = None
    error = _fails(server.url)
    assert "router mode" in error.message
    assert error.elapsed == 0


def test_another_alias_and_another_key(server):
    assert "not qwen" in _fails(server.url, alias="qwen").message
    assert "another API key" in _fails(server.url, key="sk-wrong").message


def test_an_engine_that_cannot_complete(server, state):
    state.completion = "500"
    error = _fails(server.url)
    assert "Compute error." in error.message
    assert "engine.context" in error.hint
    state.completion = "empty"
    assert "empty" in _fails(server.url).message


def test_a_completion_that_hangs_waits_until_the_deadline(server, state):
    state.completion = "hang"
    client = EngineClient(lambda: server.url, KEY)
    probe = RealCompletion(client, lambda _: None, alias="tiny", request_seconds=0.05)
    seen = probe.check()
    assert seen.state == "waiting"
    assert "no answer within 0.05 s" in seen.text
    assert probe.result is None


def test_an_answer_in_the_reasoning_counts(client, state):
    state.reasoning = True
    probe = RealCompletion(client, lambda _: None, alias="tiny")
    assert probe.check().state == "passed"
    assert probe.result.text == "Hello."


@pytest.mark.parametrize(
    ("n_ctx", "expected"), [(4096, "passed"), (8192, "passed"), (1024, "warned"), (None, "warned")]
)
def test_the_context_is_compared(client, state, n_ctx, expected):
    state.n_ctx = n_ctx
    assert ModelListed(client, "tiny", 4096).check().state == expected


def test_a_port_of_another_protocol_is_no_health():
    with socket.create_server(("127.0.0.1", 0)) as other:
        import threading

        def answer() -> None:
            peer, _ = other.accept()
            peer.recv(1000)
            peer.sendall(b"SSH-2.0-OpenSSH\r\n")
            peer.close()

        threading.Thread(target=answer, daemon=True).start()
        client = EngineClient(lambda: f"http://127.0.0.1:{other.getsockname()[1]}", KEY)
        assert EngineHealth(client).check().state == "waiting"


def test_proxies_of_the_environment_are_not_used(client, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    assert EngineHealth(client).check().state == "passed"


def test_the_port_rung_waits_for_ssh_and_stops_at_an_impostor(server):
    errors = [SshError("refused", reason="refused"), SshError("another key", reason="host_key")]

    def open_endpoint() -> str:
        raise errors.pop(0)

    probe = PortAnswers(open_endpoint)
    assert probe.check().state == "waiting"
    seen = probe.check()
    assert seen.state == "failed"
    assert seen.error.reason == "host_key"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("", "waiting"),
        ("pending", "waiting"),
        ("running", "passed"),
        ("terminated: Server.SpotInstanceTermination", "failed"),
        ("shutting-down", "failed"),
        ("stopped", "failed"),
    ],
)
def test_instance_states(said, expected):
    assert InstanceRunning(lambda: said).check().state == expected


def test_an_aws_error_is_not_the_end():
    def describe() -> str:
        raise AwsError("throttled", aws_code="RequestLimitExceeded", operation="DescribeInstances")

    assert InstanceRunning(describe).check().state == "waiting"


@pytest.mark.parametrize(
    ("gpu", "devices", "expected"),
    [
        (False, None, "skipped"),
        (True, None, "warned"),
        (True, [], "warned"),
        (True, ["CPU"], "warned"),
        (True, ["CUDA0 NVIDIA A10G", "CPU"], "passed"),
    ],
)
def test_accelerator(gpu, devices, expected):
    assert AcceleratorUsed(gpu, lambda: {"devices": devices}).check().state == expected


def _completion(draft_n=None, accepted=None, speed=10.0):
    return lambda: Completion("x", speed, draft_n, accepted)


@pytest.mark.parametrize(
    ("enabled", "completion", "expected"),
    [
        (False, _completion(), "skipped"),
        (False, _completion(4, 2), "warned"),
        (True, _completion(), "warned"),
        (True, _completion(9, 0), "warned"),
        (True, _completion(20, 15), "passed"),
        (True, lambda: None, "warned"),
    ],
)
def test_drafts(enabled, completion, expected):
    assert DraftsAccepted(lambda: enabled, completion).check().state == expected


def test_speed():
    assert Speed(_completion()).check().text == "10.0 tokens/s; no prediction for this hardware yet"
    assert Speed(_completion(), (8.0, 12.0)).check().state == "passed"
    assert Speed(_completion(speed=30.0), (8.0, 12.0)).check().state == "passed"
    assert Speed(_completion(speed=5.0), (8.0, 12.0)).check().state == "warned"
    assert Speed(_completion(speed=None)).check().state == "warned"
