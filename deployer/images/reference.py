"""A container image's name, taken apart as docker does."""

from __future__ import annotations

import re
from dataclasses import dataclass

from deployer.errors import UsageError

_NAME = re.compile(
    r"(?P<repository>[a-z0-9]+(?:[._-]+[a-z0-9]+)*(?:/[a-z0-9]+(?:[._-]+[a-z0-9]+)*)*)"
    r"(?::(?P<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?P<digest>sha256:[0-9a-f]{64}))?"
)


@dataclass(frozen=True)
class Reference:
    """host: `HOST[:PORT]`. tag, digest: at least one is there."""

    host: str
    repository: str
    tag: str | None
    digest: str | None

    @property
    def on_this_machine(self) -> bool:
        """Whether the registry is on the loopback, where docker too speaks HTTP without TLS."""
        name = self.host.partition(":")[0]
        return name == "localhost" or name.startswith("127.")

    @property
    def wanted(self) -> str:
        """What to ask the registry for: the digest, when there is one."""
        return self.digest or str(self.tag)

    def __str__(self) -> str:
        tag = f":{self.tag}" if self.tag else ""
        digest = f"@{self.digest}" if self.digest else ""
        return f"{self.host}/{self.repository}{tag}{digest}"


def parse(text: str) -> Reference:
    """`HOST/REPOSITORY[:TAG][@DIGEST]`. Raises UsageError, also for a name without its host."""
    host, slash, rest = text.partition("/")
    found = _NAME.fullmatch(rest)
    if not slash or not re.fullmatch(r"[A-Za-z0-9.-]*[.:][A-Za-z0-9.:-]+|localhost", host) or found is None:
        raise UsageError(f"{text!r} does not name an image with its registry", hint="HOST/REPOSITORY:TAG@sha256:DIGEST")
    tag, digest = found["tag"], found["digest"]
    return Reference(host, found["repository"], tag or (None if digest else "latest"), digest)
