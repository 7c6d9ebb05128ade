"""A public endpoint speaks https with a certificate of the instance's own, which clients trust alone."""

from __future__ import annotations

import json
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping

from deployer.access.pinning import fingerprint
from tests.access_cli.support import STACK, Box

_RUN = "run/deployer"


def _env(box: Box) -> dict[str, str]:
    found: dict[str, str] = json.loads(box.run("env", STACK, "--json").out)
    return found


def _models(env: Mapping[str, str], context: ssl.SSLContext) -> int:
    url, key = f"{env['OPENAI_BASE_URL']}/models", env["OPENAI_API_KEY"]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context))
    with opener.open(urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"}), timeout=30) as answer:
        return int(answer.status)


def test_any_client_that_is_given_the_file_trusts_it_by_its_address(tls_box: Box) -> None:
    env = _env(tls_box)
    assert env["OPENAI_BASE_URL"].startswith("https://127.72.")
    for name in ("SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"):
        assert _models(env, ssl.create_default_context(cafile=env[name])) == 200
    try:
        _models(env, ssl.create_default_context())
    except urllib.error.URLError as error:
        assert isinstance(error.reason, ssl.SSLCertVerificationError)
    else:
        raise AssertionError("a certificate that nobody was told of was trusted")


def test_ours_talks_to_it_and_shows_what_it_pins(tls_box: Box) -> None:
    ran = tls_box.run("chat", STACK, "Hi", "--max-tokens", "24")
    assert ran.code == 0 and ran.out.strip(), ran.err
    status = json.loads(tls_box.run("status", STACK, "--json").out)
    pin = fingerprint((tls_box.root / _RUN / "tls-certificate.pem").read_text())
    assert status["details"]["endpoint"]["certificate_sha256"] == pin
    assert {probe["state"] for probe in status["details"]["probes"]} == {"passed"}
    assert [probe["rung"] for probe in status["details"]["probes"]][-1] == "outside"


def test_another_certificate_on_the_way_is_refused_before_the_key_goes_out(tls_box: Box) -> None:
    console = tls_box.root / "dev/console"
    before = console.read_bytes()
    another = tls_box.root / "another.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout /dev/null -subj /CN=x"
    subprocess.run([*command.split(), "-out", str(another)], check=True, capture_output=True)
    ours = json.dumps((tls_box.root / _RUN / "tls-certificate.pem").read_text())
    try:
        console.write_bytes(before.replace(ours.encode(), json.dumps(another.read_text()).encode()))
        ran = tls_box.run("chat", STACK, "Hi")
    finally:
        console.write_bytes(before)
    assert ran.code != 0 and b"certificate verify failed" in ran.err


def test_its_private_key_stays_on_the_instance(tls_box: Box) -> None:
    key = tls_box.root / _RUN / "tls-key.pem"
    assert key.stat().st_mode & 0o777 == 0o600
    secret = key.read_text().splitlines()[1]
    for path in tls_box.sandbox.state.rglob("*"):
        if path.is_file() and path != key and not path.name.endswith(".gguf"):
            assert secret.encode() not in path.read_bytes(), path
