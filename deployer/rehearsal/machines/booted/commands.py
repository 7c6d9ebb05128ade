"""Commands on the host."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence

from deployer.errors import DeployerError


class HostError(DeployerError):
    """The host refused something that a booted machine needs."""

    code = "booted_machine"


def run(argv: Sequence[str], *, text: str | None = None) -> str:
    """Run a command, feeding it text; what it printed. Raises HostError with its own words when it fails."""
    done = subprocess.run(argv, input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip() or f"exit status {done.returncode}"
        raise HostError(f"`{' '.join(argv[:6])}` failed: {said}")
    return done.stdout
