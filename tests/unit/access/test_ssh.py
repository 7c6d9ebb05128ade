from __future__ import annotations

import logging
import socket
from dataclasses import replace

import paramiko
import pytest

from deployer.access.host_keys import fingerprint
from deployer.access.keys import ensure_private_key
from deployer.access.ssh import SshError, connect
from deployer.errors import RefusedError, UsageError
from tests.support.ssh_server import SshServer, new_ed25519, public
from tests.support.waiting import until


def _refused(target, timeout=5.0) -> SshError:
    with pytest.raises(SshError) as raised:
        connect(target, timeout)
    return raised.value


def test_exec_quotes_and_collects(target):
    with connect(target) as session:
        result = session.exec(["printf", "%s|", "a b", "$HOME", "it's"])
        assert result.stdout == b"a b|$HOME|it's|"
        assert result.exit_code == 0
        failed = session.exec(["sh", "-c", "echo out; echo err >&2; exit 7"])
        assert (failed.exit_code, failed.stdout, failed.stderr) == (7, b"out\n", b"err\n")


def test_much_output_on_both_streams_does_not_block(target):
    script = "head -c 3000000 /dev/zero; head -c 3000000 /dev/zero >&2"
    with connect(target) as session:
        result = session.exec(["sh", "-c", script])
    assert (len(result.stdout), len(result.stderr)) == (3_000_000, 3_000_000)


def test_exec_that_says_nothing_ends_at_its_timeout(target):
    with connect(target) as session, pytest.raises(SshError) as raised:
        session.exec(["sleep", "5"], timeout=0.2)
    assert raised.value.reason == "timeout"


def test_a_changed_host_key_names_both_and_keeps_the_key_back(target, server):
    pinned = public(new_ed25519())
    error = _refused(replace(target, host_keys=(pinned,)))
    assert error.reason == "host_key"
    assert not error.passing
    assert fingerprint(pinned) in error.message
    assert fingerprint(server.public_host_key) in error.message
    assert server.offered == []


def test_a_pin_of_another_type_is_a_host_key_error(target):
    rsa = paramiko.RSAKey.generate(2048)
    assert _refused(replace(target, host_keys=(public(rsa),))).reason == "host_key"


@pytest.mark.parametrize("kind", [paramiko.RSAKey, paramiko.ECDSAKey])
def test_other_host_key_types(target, key, kind):
    host_key = kind.generate(2048) if kind is paramiko.RSAKey else kind.generate()
    with SshServer(authorized=(ensure_private_key(key),), host_key=host_key) as server:
        session = connect(replace(target, port=server.port, host_keys=(server.public_host_key,)))
        assert session.exec(["true"]).exit_code == 0
        session.close()


def test_without_a_known_host_key_nothing_is_dialled(target, server):
    error = _refused(replace(target, host_keys=()))
    assert error.reason == "host_key"
    assert server.offered == []


def test_refused_auth_and_wrong_user(target, tmp_path):
    ensure_private_key(tmp_path / "other")
    error = _refused(replace(target, key_path=tmp_path / "other"))
    assert error.reason == "auth"
    assert "access.key" in error.hint
    assert _refused(replace(target, user="root")).reason == "auth"


def test_nobody_listens(target):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    error = _refused(replace(target, port=port))
    assert error.reason == "refused"
    assert error.passing
    assert error.exit_code == 6


def test_dropped_packets_point_to_the_security_group(target):
    # A full backlog drops further connection requests, as a security group does.
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(full.getsockname())
        error = _refused(replace(target, port=full.getsockname()[1]), timeout=0.3)
        for filler in fillers:
            filler.close()
    assert error.reason == "timeout"


def test_a_port_that_does_not_speak_ssh(target, capfd, caplog):
    with socket.create_server(("127.0.0.1", 0)) as other, caplog.at_level(logging.CRITICAL + 1):
        import threading

        def answer() -> None:
            client, _ = other.accept()
            client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            client.close()

        threading.Thread(target=answer, daemon=True).start()
        error = _refused(replace(target, port=other.getsockname()[1]), timeout=1.0)
    assert error.reason in ("protocol", "closed")
    assert "Traceback" not in capfd.readouterr().err


def test_a_silent_port_ends_at_the_timeout(target):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        error = _refused(replace(target, port=silent.getsockname()[1]), timeout=0.4)
    assert error.reason in ("timeout", "protocol")


def test_an_unusable_key_file_is_a_refusal(target, tmp_path):
    with pytest.raises(RefusedError, match="is not on this machine"):
        connect(replace(target, key_path=tmp_path / "missing"))


def test_a_lost_connection_is_noticed(target, server):
    session = connect(target)
    assert session.alive
    server.drop_connections()
    until(lambda: not session.alive, "the drop is noticed")
    with pytest.raises(SshError) as raised:
        session.open_stream(1)
    assert raised.value.reason == "closed"
    session.close()
    session.close()


def test_jump_through_a_bastion(target, server, key, tmp_path):
    pins = tmp_path / "pins" / "bastions"
    with SshServer(user="jump", authorized=(ensure_private_key(key),)) as bastion:
        through = replace(target, bastion=f"jump@127.0.0.1:{bastion.port}", bastion_pins=pins)
        with connect(through) as session:
            assert session.exec(["echo", "hi"]).stdout == b"hi\n"
        assert bastion.opened == 1
        assert pins.read_text() == f"127.0.0.1:{bastion.port} {bastion.public_host_key}\n"
        bastion.host_key = new_ed25519()
        error = _refused(through)
    assert error.reason == "host_key"
    assert str(bastion.port) in error.where


def test_the_targets_pin_holds_behind_a_bastion(target, key):
    with SshServer(user="jump", authorized=(ensure_private_key(key),)) as bastion:
        through = replace(
            target,
            bastion=f"jump@127.0.0.1:{bastion.port}",
            host_keys=(public(new_ed25519()),),
        )
        assert _refused(through).reason == "host_key"


def test_a_senseless_bastion(target):
    for text in ("nobody", "a@b:99999"):
        with pytest.raises(UsageError):
            connect(replace(target, bastion=text))
