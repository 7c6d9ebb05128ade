"""Names that only the catalogue knows: regions, instance types, models, quantisations.

Checked with the rest of the spec, so that a misspelt name is told together with every other mistake.
"""

from __future__ import annotations

from collections.abc import Iterable

from deployer.catalog import hardware, models, partition
from deployer.catalog.closest import did_you_mean
from deployer.spec.findings import show


def unknown_region(region: str) -> str | None:
    """Why no AWS partition has this region; None when one has."""
    if partition.for_region(region) is not None:
        return None
    known = partition.known_regions()
    return (
        f'no AWS partition has a region "{show(region)}"{_near_or(region, known, "in China: " + ", ".join(known[:2]))}'
    )


def unknown_instance_type(name: str) -> str | None:
    """Why the catalogue has no such instance type; None when it has."""
    if hardware.lookup(name) is not None:
        return None
    family = name.partition(".")[0]
    members = [member.name for member in hardware.family_members(family)]
    families = dict.fromkeys(each.partition(".")[0] for each in hardware.all_types())
    others = ", ".join(members) if members else "known families: " + ", ".join(families)
    return f'unknown instance type "{show(name)}"{_near_or(name, members or hardware.all_types(), others)}'


def unknown_model(name: str) -> str | None:
    """Why the catalogue has no such model; None when it has."""
    if models.lookup(name) is not None:
        return None
    known = [model.name for model in models.all_models()]
    others = f"the catalogue has {', '.join(known)}; for any other GGUF, model.source and model.file"
    return f'unknown model "{show(name)}"{_near_or(name, known, others)}'


def unknown_quant(name: str, quant: str) -> str | None:
    """Why the catalogue's model has no such quantisation; None when it has, or when the model itself is unknown."""
    facts = models.lookup(name)
    if facts is None or models.file_for(facts, quant) is not None:
        return None
    known = models.quants(facts)
    return f'{facts.name} has no quantisation "{show(quant)}"{_near_or(quant, known, "it has " + ", ".join(known))}'


def _near_or(name: str, known: Iterable[str], otherwise: str) -> str:
    return did_you_mean(name, known) or f" ({otherwise})"
