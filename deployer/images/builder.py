"""The program that makes and runs containers here: docker (with or without buildx) or podman, whichever answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from deployer.errors import RefusedError
from deployer.images.commands import Done, run

#: GOARCH, as docker and podman say it, from `uname -m`'s words, which podman says sometimes.
_ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Builder:
    """architecture: of the machine the daemon runs on, `amd64` or `arm64`. buildx: builds for others too."""

    program: Literal["docker", "podman"]
    architecture: str
    buildx: bool

    def build(self, context: Path, name: str, architecture: str, arguments: Sequence[tuple[str, str]]) -> list[str]:
        """The command that builds `context/Dockerfile`. arguments: the Dockerfile's ARGs."""
        given = [word for key, value in arguments for word in ("--build-arg", f"{key}={value}")]
        platform = ["--platform", f"linux/{architecture}"] if self.buildx or self.program == "podman" else []
        match self.program:
            case "podman":
                # Its own format drops HEALTHCHECK.
                verb = ["podman", "build", "--format", "docker"]
            case "docker" if self.buildx:
                # One manifest: an attestation beside it would make an index, whose digest is not the image's.
                verb = ["docker", "buildx", "build", "--load", "--provenance=false"]
            case _:
                verb = ["docker", "build"]
        return [*verb, *platform, *given, "--tag", name, "--file", str(context / "Dockerfile"), str(context)]

    def login(self, folder: Path, registry: str, user: str) -> list[str]:
        """The command that reads the password and keeps the login in `folder`, away from the person's own."""
        words = ["login", "--username", user, "--password-stdin"]
        if self.program == "podman":
            return ["podman", *words, "--authfile", str(folder / "auth.json"), registry]
        return ["docker", "--config", str(folder), *words, registry]

    def push(self, folder: Path, name: str) -> list[str]:
        """The command that pushes with the login kept in `folder`."""
        if self.program == "podman":
            return ["podman", "push", "--format", "v2s2", "--authfile", str(folder / "auth.json"), name]
        return ["docker", "--config", str(folder), "push", name]

    def inspect(self, name: str, template: str) -> str | None:
        """One fact of an image that is here, by a Go template; None when there is no such image."""
        done = run([self.program, "image", "inspect", "--format", template, name])
        return done.text.strip() if done.code == 0 else None


def find_builder(
    architecture: str | None = None,
    *,
    which: Callable[[str], str | None] = shutil.which,
    execute: Callable[[Sequence[str]], Done] = run,
) -> Builder:
    """The first that answers. architecture: what is to be built, None when nothing is.

    Raises RefusedError: none answers, or none builds for the architecture.
    """
    problems: list[str] = []
    for look in (_docker, _podman):
        found = look(which, execute)
        if isinstance(found, str):
            problems.append(found)
        elif architecture in (None, found.architecture) or found.buildx:
            return found
        else:
            problems.append(f"{found.program} here builds for {found.architecture} only (it has no buildx)")
    said = "\n".join(f"  {problem}" for problem in problems)
    wanted = f" an image for {architecture}" if architecture else " images"
    raise RefusedError(
        f"nothing on this machine can handle{wanted}:\n{said}",
        hint="install docker (with its buildx plugin to build for another architecture) or podman, run this on a "
        "machine of that architecture, or let `deployer image build --on-instance` build in the region",
    )


def _docker(which: Callable[[str], str | None], execute: Callable[[Sequence[str]], Done]) -> Builder | str:
    if which("docker") is None:
        return "docker is not on PATH"
    answer = execute(["docker", "version", "--format", "{{.Server.Arch}}"])
    if answer.code:
        return f"docker: {answer.lines[-1] if answer.lines else 'its daemon does not answer'}"
    buildx = execute(["docker", "buildx", "version"]).code == 0
    return Builder("docker", _goarch(answer), buildx)


def _podman(which: Callable[[str], str | None], execute: Callable[[Sequence[str]], Done]) -> Builder | str:
    if which("podman") is None:
        return "podman is not on PATH"
    answer = execute(["podman", "info", "--format", "{{.Host.Arch}}"])
    if answer.code:
        return f"podman: {answer.lines[-1] if answer.lines else 'it does not work here'}"
    return Builder("podman", _goarch(answer), buildx=False)


def _goarch(answer: Done) -> str:
    said = answer.lines[-1].strip() if answer.lines else ""
    return _ARCHITECTURES.get(said, said)
