from __future__ import annotations

import stat
import threading

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from deployer.access.keys import ensure_private_key, public_key_of
from deployer.access.secrets import new_api_key
from deployer.errors import RefusedError


def _write(path, key, *, encoding="OpenSSH", password=None):
    encryption = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, getattr(serialization.PrivateFormat, encoding), encryption)
    )
    return path


def test_a_new_key_is_private_and_kept(tmp_path):
    path = tmp_path / "keys" / "stack"
    public = ensure_private_key(path)
    assert public.startswith("ssh-ed25519 AAAA")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert path.read_text().startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    before = path.read_bytes()
    assert ensure_private_key(path) == public
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["stack"]


def test_callers_at_once_get_the_same_key(tmp_path):
    path = tmp_path / "stack"
    found = []
    threads = [threading.Thread(target=lambda: found.append(ensure_private_key(path))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert len(set(found)) == 1


def test_what_is_there_is_never_overwritten(tmp_path):
    path = tmp_path / "notes"
    path.write_text("mine")
    with pytest.raises(RefusedError, match="not a private key"):
        ensure_private_key(path)
    assert path.read_text() == "mine"


@pytest.mark.parametrize("encoding", ["OpenSSH", "TraditionalOpenSSL", "PKCS8"])
def test_keys_of_the_user_in_every_usual_format(tmp_path, encoding):
    path = _write(tmp_path / "id", rsa.generate_private_key(65537, 2048), encoding=encoding)
    assert public_key_of(path).startswith("ssh-rsa AAAA")


@pytest.mark.parametrize("encoding", ["OpenSSH", "PKCS8"])
def test_a_passphrase_is_a_clear_error(tmp_path, encoding):
    path = _write(tmp_path / "id", ed25519.Ed25519PrivateKey.generate(), encoding=encoding, password=b"secret")
    with pytest.raises(RefusedError, match="passphrase") as raised:
        public_key_of(path)
    assert "access.key" in raised.value.hint


def test_a_type_that_ec2_does_not_import(tmp_path):
    with pytest.raises(RefusedError, match="EC2 does not import"):
        public_key_of(_write(tmp_path / "id", ec.generate_private_key(ec.SECP256R1())))


def test_missing_file_and_public_half(tmp_path):
    with pytest.raises(RefusedError, match="is not on this machine"):
        public_key_of(tmp_path / "none")
    (tmp_path / "id.pub").write_text(ensure_private_key(tmp_path / "id") + "\n")
    with pytest.raises(RefusedError, match="not a private key"):
        public_key_of(tmp_path / "id.pub")


def test_api_keys_are_long_url_safe_and_different():
    keys = {new_api_key() for _ in range(100)}
    assert len(keys) == 100
    assert all(key.startswith("sk-") and len(key) == 46 for key in keys)
    assert set("".join(keys)) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_")
