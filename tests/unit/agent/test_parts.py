"""The agent's small parts alone."""

from __future__ import annotations

import hashlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotoCredentials
from hypothesis import given
from hypothesis import strategies as st

from deployer.agent import processes
from deployer.agent.api_key import write_private
from deployer.agent.console import Console, Phase
from deployer.agent.engine import clean_environment
from deployer.agent.protocol import AgentFailure, decode_line
from deployer.agent.sigv4 import UNSIGNED, Credentials, sign
from deployer.agent.stop import Stop, Stopped
from deployer.agent.text import TAIL_BYTES, clean, read_tail

ROLE = Credentials("AKID", "se/cr+et", "tok==")


@pytest.mark.parametrize("url", ["https://ssm.example/", "https://ssm.example/a%20b/~c?z=1&a=%2F&a="])
def test_sigv4_is_botocore_s(url: str) -> None:
    body = b'{"Name":"x"}'
    headers = {"Content-Type": "application/x-amz-json-1.1", "X-Amz-Target": "AmazonSSM.GetParameter"}
    ours = sign(ROLE, "POST", url, headers, hashlib.sha256(body).hexdigest(), "ssm", "cn-northwest-1", 1.8e9)
    assert _signature(ours) == _botocore(SigV4Auth, "POST", url, ours, body, "ssm")


def test_sigv4_for_s3_is_botocore_s() -> None:
    url = "https://bucket.s3.example/a%20b/m%2Bq.gguf"
    ours = sign(ROLE, "GET", url, {}, UNSIGNED, "s3", "cn-northwest-1", 1.8e9)
    assert _signature(ours) == _botocore(S3SigV4Auth, "GET", url, ours, None, "s3")


def _signature(headers: dict[str, str]) -> str:
    return headers["Authorization"].rpartition("Signature=")[2]


def _botocore(kind: type, method: str, url: str, sent: dict[str, str], body: bytes | None, service: str) -> str:
    headers = {name: value for name, value in sent.items() if name != "Authorization"}
    request = AWSRequest(method, url, headers=headers, data=body)
    request.context.update(timestamp=sent["X-Amz-Date"], client_config=None, payload_signing_enabled=service != "s3")
    signer = kind(BotoCredentials(*ROLE), service, "cn-northwest-1")
    canonical = signer.canonical_request(request)
    if service == "s3":
        canonical = canonical.rpartition("\n")[0] + "\n" + UNSIGNED
    return str(signer.signature(signer.string_to_sign(request, canonical), request))


@given(st.text(), st.integers(10, 300))
def test_clean_is_one_printable_line(text: str, limit: int) -> None:
    line = clean(text, limit)
    assert len(line) <= limit
    assert not re.search(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]", line)


def test_tail_reads_the_end_only(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("".join(f"line {n}\n" for n in range(20_000)))
    lines = read_tail(str(path))
    assert lines[-1] == "line 19999"
    assert all(line.startswith("line ") for line in lines)
    assert len("\n".join(lines)) <= TAIL_BYTES
    size = path.stat().st_size
    with path.open("a") as stream:
        stream.write("since\n\nthen")
    assert read_tail(str(path), size) == ["since", "then"]
    assert read_tail(str(path), size * 2) == []
    assert read_tail(str(tmp_path / "none")) == []


@given(st.text(min_size=1, max_size=20).filter(lambda key: key.strip() == key and key.isprintable()), st.text())
def test_a_secret_is_hidden_wherever_it_stands(secret: str, around: str) -> None:
    console = Console("/dev/null")
    console.hide(secret)
    line = console._hidden(around + secret + "|" + around)
    if secret not in "[redacted]":
        assert secret + "|" not in line.replace("[redacted]", "\0")


def test_an_unwritable_console_is_no_failure(tmp_path: Path) -> None:
    Console(str(tmp_path / "missing/console")).say("boot", "start")
    Console("/dev/full").say("boot", "start")


def test_a_phase_says_how_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "console"
    console = Console(str(path))
    with Phase(console, "driver") as phase:
        phase.skip("nothing to do")
    for error, code in (
        (OSError(28, "No space left on device"), "disk_full"),
        (KeyError("x"), "agent_error"),
        (AgentFailure("driver", "driver_missing", "none", ["log"]), "driver_missing"),
    ):
        with pytest.raises(AgentFailure) as caught, Phase(console, "driver"):
            raise error
        assert caught.value.code == code
    with pytest.raises(Stopped), Phase(console, "driver"):
        raise Stopped
    states = [line["state"] for line in map(decode_line, path.read_text().splitlines()) if line]
    assert states == ["start", "skipped", *["start", "failed"] * 3, "start"]


def test_stop_wakes_every_waiter_at_once() -> None:
    stop = Stop()
    assert not stop.wait(0)
    woken = [threading.Event() for _ in range(3)]

    def waiter(event: threading.Event) -> None:
        stop.wait(60)
        event.set()

    for event in woken:
        threading.Thread(target=waiter, args=(event,), daemon=True).start()
    stop.ask()
    stop.ask()
    assert all(event.wait(5) for event in woken)
    with pytest.raises(Stopped):
        stop.check()
    with pytest.raises(Stopped):
        stop.pause(60)


def test_environment_for_an_engine() -> None:
    given_ = {
        "PATH": "p", "HOME": "h", "LC_ALL": "C", "CUDA_VISIBLE_DEVICES": "0", "GGML_CUDA_P2P": "1",
        "LLAMA_ARG_PORT": "1", "AWS_SECRET_ACCESS_KEY": "s", "HF_TOKEN": "t", "DEPLOYER_HOME": "d", "PYTHONPATH": "x",
    }  # fmt: skip
    assert sorted(clean_environment(given_)) == ["CUDA_VISIBLE_DEVICES", "GGML_CUDA_P2P", "HOME", "LC_ALL", "PATH"]


def test_private_files_are_private_from_the_first_byte(tmp_path: Path) -> None:
    path = tmp_path / "run/key"
    write_private(str(path), "one\n")
    write_private(str(path), "two\n")
    assert path.read_text() == "two\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert [entry.name for entry in path.parent.iterdir()] == ["key"]


class TestProcesses:
    @pytest.fixture(autouse=True)
    def quick(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(processes, "GRACE_SECONDS", 0.3)
        monkeypatch.setattr(processes, "SECOND_GRACE_SECONDS", 0.3)

    def start(self, code: str) -> subprocess.Popen[bytes]:
        text = code + "\nprint('up', flush=True)\nimport threading\nthreading.Event().wait()"
        child = subprocess.Popen([sys.executable, "-ISc", text], stdout=subprocess.PIPE, start_new_session=True)
        assert child.stdout is not None and child.stdout.readline() == b"up\n"
        return child

    def test_marks(self) -> None:
        child = self.start("")
        mark = processes.start_mark(child.pid)
        assert mark and mark == processes.start_mark(child.pid)
        child.kill()
        child.wait()
        assert processes.start_mark(child.pid) is None

    def test_a_zombie_is_not_alive(self) -> None:
        child = self.start("")
        child.kill()
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        assert processes.start_mark(child.pid) is None
        child.wait()

    def test_a_leftover_is_ended_even_if_it_ignores_sigterm(self, tmp_path: Path) -> None:
        child = self.start("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN)")
        path = str(tmp_path / "pid")
        processes.remember(path, child.pid)
        assert processes.end_leftover(path) == child.pid
        assert child.wait(5) == -signal.SIGKILL
        assert processes.end_leftover(path) is None

    def test_children_of_the_engine_go_with_it(self, tmp_path: Path) -> None:
        inner = "import signal,threading; signal.signal(15, signal.SIG_IGN); threading.Event().wait()"
        child = self.start(
            f"import subprocess, sys; p = subprocess.Popen([sys.executable, '-ISc', {inner!r}]);"
            f" open({str(tmp_path / 'inner')!r}, 'w').write(str(p.pid))"
        )
        grandchild = int((tmp_path / "inner").read_text())
        processes.end_group(child.pid, lambda: child.poll() is not None)
        deadline = time.monotonic() + 5
        while processes.start_mark(grandchild) is not None:
            assert time.monotonic() < deadline
            threading.Event().wait(0.02)
