"""`deployer status --watch`: documents until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess

from tests.access_cli.support import STACK, Box
from tests.rehearse.support import ROOT, program


def test_it_looks_until_ctrl_c_and_ends_with_0(box: Box) -> None:
    process = subprocess.Popen(
        program("status", STACK, "--watch", "--json"),
        cwd=ROOT,
        env={**os.environ, **box.sandbox.env},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        details = json.loads(process.stdout.readline())["details"]
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    finally:
        process.kill()
        process.wait()
    assert (process.returncode, errors) == (0, b"")
    assert (details["health"]["state"], details["drift"]) == ("healthy", [])
