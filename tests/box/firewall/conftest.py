"""The agent with the host's own iptables, in a network of its own; no machine is booted."""

from __future__ import annotations

import pytest

from tests.unit.agent.conftest import box, library

__all__ = ["box", "library"]


@pytest.fixture(autouse=True, scope="session")
def image() -> None:
    """Instead of the booted machines' fixture of this name."""
