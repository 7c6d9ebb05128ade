"""Images and builds for other processors; no machine is booted."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True, scope="session")
def image() -> None:
    """Instead of the booted machines' fixture of this name."""
