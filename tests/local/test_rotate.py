"""A new API key for a stack on this machine."""

from __future__ import annotations

import pytest

from deployer.clock import SystemClock
from deployer.errors import RefusedError
from deployer.health.client import Answered, EngineClient, Unauthorized
from deployer.targets.local_agent import running
from deployer.targets.local_rotation import rotate


def test_the_old_key_stops_and_the_new_one_works(here, planted_key):
    here.target().up(here.deployment())
    done = rotate(here.settings, "local-tiny", SystemClock(), here.events.append)
    assert done.seconds > 0
    new = here.folder.ensure_api_key()
    base = f"http://127.0.0.1:{here.port}"
    assert isinstance(EngineClient(lambda: base, planted_key).models(), Unauthorized)
    assert isinstance(EngineClient(lambda: base, new).models(), Answered)
    agent = running(here.folder)
    assert here.target().up(here.deployment()).changes == 0
    assert running(here.folder) == agent
    here.target().down("local-tiny")
    with pytest.raises(RefusedError, match="no stack"):
        rotate(here.settings, "local-tiny", SystemClock(), here.events.append)
