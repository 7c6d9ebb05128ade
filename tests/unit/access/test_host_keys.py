from __future__ import annotations

import subprocess

import paramiko
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.access.host_keys import fingerprint, from_console
from deployer.agent.protocol import encode_line
from tests.support.ssh_server import new_ed25519, public


def _block(*keys: str, before: str = "", end: str = "\r\n") -> str:
    lines = [
        "-----BEGIN SSH HOST KEY KEYS-----",
        *(f"{key} root@box" for key in keys),
        "-----END SSH HOST KEY KEYS-----",
    ]
    return "".join(f"{before}{line}{end}" for line in lines)


FIRST, SECOND, ECDSA = public(new_ed25519()), public(new_ed25519()), public(paramiko.ECDSAKey.generate())


@pytest.mark.parametrize("before", ["", "[   14.2] cloud-init[1412]: "])
def test_cloud_inits_block(before):
    text = "[    0.0] Linux version\r\n" + _block(ECDSA, FIRST, before=before) + "login: "
    assert from_console(text) == [ECDSA, FIRST]


def test_the_agents_line():
    line = encode_line("boot", "done", 1.0, host_keys=[FIRST, ECDSA])
    assert from_console(f"noise\n{line}\nmore") == [FIRST, ECDSA]


def test_the_last_boot_wins_whoever_wrote_it():
    agent = encode_line("boot", "done", 1.0, host_keys=[SECOND])
    assert from_console(_block(FIRST) + agent + "\n") == [SECOND]
    assert from_console(agent + "\n" + _block(FIRST)) == [FIRST]
    assert from_console(_block(FIRST) + _block(SECOND)) == [SECOND]


def test_half_a_block_and_other_phases_do_not_count():
    whole = _block(FIRST)
    assert from_console(whole + _block(SECOND).rsplit("-----END", 1)[0]) == [FIRST]
    assert from_console(_block(SECOND).split("KEYS-----", 1)[1]) == []
    assert from_console(encode_line("ready", "done", 1.0, host_keys=[FIRST])) == []


def test_a_cut_or_false_key_is_dropped():
    kind, blob = FIRST.split()
    assert from_console(_block(f"{kind} {blob[:-8]}", f"ssh-rsa {blob}", "ssh-ed25519 AAAA%%%%")) == []


@given(st.integers(0, 1200))
def test_any_tail_gives_a_true_key_or_none(cut):
    text = _block(FIRST) + encode_line("boot", "done", 1.0, host_keys=[FIRST]) + "\n"
    assert from_console(text[cut:]) in ([FIRST], [])
    assert from_console(text[:cut]) in ([FIRST], [])


def test_fingerprint_is_what_openssh_prints(tmp_path):
    (tmp_path / "key.pub").write_text(FIRST + "\n")
    try:
        shown = subprocess.run(
            ["ssh-keygen", "-lf", str(tmp_path / "key.pub")], capture_output=True, text=True, check=True
        ).stdout
    except FileNotFoundError:
        pytest.skip("no ssh-keygen here")
    assert fingerprint(FIRST) in shown
