"""Where things are fetched from: model hubs, and hosts for packages and images that China cannot reach otherwise."""

from __future__ import annotations

from collections.abc import Mapping

from deployer.catalog.source import document


def base_url(kind: str, overrides: Mapping[str, str], partition: str = "aws-cn") -> str:
    """The base URL of a hub (`modelscope`, `hf`), without a trailing slash. `overrides` (settings.mirrors) win.

    Raises KeyError for an unknown hub.
    """
    if kind in overrides:
        return overrides[kind].rstrip("/")
    return str(document("mirrors")["hubs"][kind][partition])


def host(kind: str, overrides: Mapping[str, str], partition: str = "aws-cn") -> str:
    """The host of `docker-ce`, `nvidia-container-toolkit`, `nvidia-driver` or `engine-image`. `overrides` win.

    An override's name has underscores for hyphens, as environment variables do. Raises KeyError for an unknown kind.
    """
    override = overrides.get(kind.replace("-", "_"))
    return override.rstrip("/") if override else str(document("mirrors")["hosts"][kind][partition])
