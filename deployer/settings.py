"""Ordinary configuration from the environment: where state lives, which mirrors, which spec values to override.

Everything here can be set by a person for a reason of their own; nothing in it means "this is a test".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_data_path

from deployer.errors import UsageError


@dataclass(frozen=True)
class Settings:
    """home: keys and local stacks. overrides: dotted spec key -> YAML scalar text (DEPLOYER_SET, --set).

    mirrors: source scheme or host name (`modelscope`, `hf`, ...) -> base URL, from DEPLOYER_MIRROR_<NAME>.
    my_cidr: the operator's own network as AWS sees it, for the SSH rule. environ: the environment read.
    """

    home: Path
    region: str | None
    profile: str | None
    overrides: Mapping[str, str]
    mirrors: Mapping[str, str]
    my_cidr: str | None
    environ: Mapping[str, str]

    @staticmethod
    def from_env(
        environ: Mapping[str, str],
        *,
        region: str | None = None,
        profile: str | None = None,
        overrides: tuple[str, ...] = (),
    ) -> Settings:
        """Read the environment; the keyword arguments (command-line flags) win.

        DEPLOYER_SET holds `key=value` pairs separated by `;`. Raises UsageError on a pair without `=`.
        """
        pairs = [p for p in environ.get("DEPLOYER_SET", "").split(";") if p.strip()]
        merged: dict[str, str] = {}
        for pair in [*pairs, *overrides]:
            key, separator, value = pair.partition("=")
            if not separator or not key.strip():
                raise UsageError(f"override {pair!r} is not of the form key=value", hint="--set engine.context=16384")
            merged[key.strip()] = value.strip()
        home = environ.get("DEPLOYER_HOME")
        prefix = "DEPLOYER_MIRROR_"
        return Settings(
            home=Path(home) if home else user_data_path("deployer"),
            region=region or environ.get("DEPLOYER_REGION"),
            profile=profile or environ.get("AWS_PROFILE"),
            overrides=merged,
            mirrors={k[len(prefix) :].lower(): v.rstrip("/") for k, v in environ.items() if k.startswith(prefix)},
            my_cidr=environ.get("DEPLOYER_MY_CIDR"),
            environ=environ,
        )
