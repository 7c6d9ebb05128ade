"""Everything that exists in the emulated account: a walk over all of moto's backends, minus what a fresh account has.

A resource is any object of moto's that a backend keeps in a container, named `service:kind:id` with moto's own name of
the container as kind. Which container that is does not matter: whatever a client made has to show up somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from deployer.rehearsal.fidelity.fleet import Fleet

#: Containers whose content is not a resource of its own.
_NOT_RESOURCES = frozenset({"tags", "reservations"})
#: Names that only AWS itself can give; moto makes what has them when it is first asked for.
_OWNED_BY_AWS = ("ssm:parameters:/aws/",)


class Inventory:
    """The account's resources. `remember` must be called for each backend when it is fresh."""

    def __init__(self, account: str, fleet: Fleet) -> None:
        self._account = account
        self._fleet = fleet
        self._fresh: set[str] = set()

    def remember(self, service: str, backend: Any) -> None:
        """What this backend holds now belongs to a fresh account."""
        self._fresh.update(_resources(service, backend))

    @contextmanager
    def remembering(self, service: str, backend: Any) -> Iterator[None]:
        """What this backend gets meanwhile belongs to a fresh account."""
        before = set(_resources(service, backend))
        yield
        self._fresh.update(set(_resources(service, backend)) - before)

    def resources(self) -> list[str]:
        """Sorted names of everything somebody made and nobody has deleted. Terminated instances are gone."""
        from moto.core.base_backend import BackendDict

        names: set[str] = {f"ec2:instances:{b.id}" for b in self._fleet.boxes() if b.state != "terminated"}
        for backends in list(BackendDict._instances):
            if self._account not in dict.keys(backends):
                continue
            for backend in list(backends[self._account].values()):
                names.update(_resources(backends.service_name, backend))
        return sorted(name for name in names - self._fresh if not name.startswith(_OWNED_BY_AWS))

    def machines(self) -> list[str]:
        """Instance ids whose machine is not halted."""
        return sorted(
            box.id
            for box in self._fleet.boxes()
            if not box.settled or (box.machine is not None and box.machine.state != "halted")
        )

    def document(self) -> dict[str, list[str]]:
        """Both, as `sandbox status --json` prints them; two empty lists when nothing exists."""
        return {"resources": self.resources(), "machines": self.machines()}


def _resources(service: str, backend: Any) -> Iterator[str]:
    for kind, container in list(vars(backend).items()):
        if kind not in _NOT_RESOURCES:
            for identifier in _identifiers(container, ""):
                yield f"{service}:{kind.lstrip('_')}:{identifier}"


def _identifiers(container: Any, key: str) -> Iterator[str]:
    """Keys of the moto objects in a container, however deep; of nested mappings the innermost key."""
    if isinstance(container, Mapping):
        for inner, value in list(dict.items(container) if isinstance(container, dict) else container.items()):
            if _is_resource(value):
                yield str(inner)
            else:
                yield from _identifiers(value, str(inner))
    elif isinstance(container, list | tuple | set):
        for position, value in enumerate(list(container)):
            if _is_resource(value):
                yield key or str(getattr(value, "id", position))
            else:
                yield from _identifiers(value, key)


def _is_resource(value: Any) -> bool:
    from moto.core.base_backend import BaseBackend

    kind = type(value)
    module = kind.__module__
    return module.startswith(("moto.", __name__.rpartition(".")[0])) and not isinstance(
        value, BaseBackend | Mapping | list
    )
