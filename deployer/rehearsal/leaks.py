"""What a rehearsal left behind, and what it asked of AWS, as the sandbox saw it."""

from __future__ import annotations

from deployer.rehearsal.stage import Stage


def count_calls(built: Stage) -> int:
    """How many AWS calls the product made so far."""
    return int(built.ask("calls")["count"])


def find(built: Stage, *, local: bool) -> list[str]:
    """Everything that is still there: resources, machines, stacks on this machine, and tries to leave loopback."""
    inventory = built.ask("status")
    left = [str(resource) for resource in inventory["resources"]]
    left += [f"machine {machine}" for machine in inventory["machines"]]
    left += [f"escape: {escape['kind']} {escape['what']}" for escape in built.ask("escapes")["escapes"]]
    if local:
        listed = built.product.run("ls").require().objects[-1]
        left += [f"local stack {row['stack']}" for row in listed["stacks"] if row["target"] == "local"]
    return left
