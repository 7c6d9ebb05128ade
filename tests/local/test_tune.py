"""`deployer tune` on this machine, with real llama.cpp."""

from __future__ import annotations

import pytest

from deployer.clock import SystemClock
from deployer.errors import RefusedError
from deployer.rehearsal import tiny_model
from deployer.targets.local_agent import running
from deployer.targets.local_tuning import tune_stack
from tests.local.conftest import Here


@pytest.fixture
def worthless(tmp_path) -> Here:
    """A head of which no draft is accepted, and MTP on by the spec's first plan."""
    models = tmp_path / "worthless"
    tiny_model.write(models / "tiny-qwen35-mtp.gguf", accept=0.0)
    made = Here(tmp_path / "home", models)
    yield made
    made.close()


def test_a_head_without_acceptance_ends_with_mtp_off(worthless):
    here, how = worthless, {"engine_mtp": "auto", "engine_threads": "1"}
    with pytest.raises(RefusedError, match="no stack"):
        tune_stack(here.settings, "local-tiny", SystemClock(), here.events.append, measure_only=False)
    here.target().up(here.deployment(**how))
    agent = running(here.folder)
    done = tune_stack(here.settings, "local-tiny", SystemClock(), here.events.append, measure_only=False)
    off, on = done.report.rows
    assert (off.drafts, on.drafts, on.same) == (0, 1, True)
    # The thinking before the answer is drafted rightly.
    assert on.acceptance < 0.5
    assert done.report.chosen.drafts == 0
    assert here.folder.record().tuned["drafts"] == 0
    status = here.target().status("local-tiny")
    assert (status.phase, status.details["tuned"]["drafts"]) == ("ready", 0)
    # What was measured is no drift.
    assert here.target().up(here.deployment(**how)).changes == 0
    assert running(here.folder) == agent
