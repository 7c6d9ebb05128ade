"""Build one engine image: the Dockerfile and the checked source archive in a folder of their own, then the builder."""

from __future__ import annotations

import hashlib
import re
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from deployer.clock import Clock
from deployer.errors import DeployerError, RefusedError, UsageError
from deployer.events import Emit, Event
from deployer.images.builder import Builder
from deployer.images.commands import run
from deployer.images.recipe import Recipe
from deployer.render.dockerfiles import SOURCE, dockerfile

_CHUNK = 1 << 20


class BuildFailed(DeployerError):
    """The builder or the image's first run failed; the message carries the last lines."""

    code = "image_build"


@dataclass(frozen=True)
class Bases:
    """base: the image to run on. build: the one to compile on, which only the cuda build has apart."""

    base: str
    build: str | None = None

    def arguments(self) -> list[tuple[str, str]]:
        """The Dockerfile's ARGs."""
        return [("BASE_IMAGE", self.base), *([("BUILD_IMAGE", self.build)] if self.build else [])]


def check_source(path: Path) -> Path:
    """The pinned archive of llama.cpp, checked. Raises RefusedError that says how to get it."""
    hint = (
        f"it is {SOURCE.name}, the source archive of the Python package of that name: any package index has it "
        "(pip download --no-deps --no-binary xllamacpp xllamacpp==2026.10.11549)"
    )
    if not path.is_file():
        raise RefusedError(f"there is no source archive at {path}", where="--source", hint=hint)
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    if digest.hexdigest() != SOURCE.sha256:
        message = f"{path} has sha256 {digest.hexdigest()}, {SOURCE.sha256} is expected"
        raise RefusedError(message, where="--source", hint=hint)
    return path


def check_bases(recipe: Recipe, bases: Bases) -> list[str]:
    """Images that are not pinned, for a warning. Raises UsageError when the compiler's image is missing or too many."""
    if recipe.build.name == "cuda" and bases.build is None:
        raise UsageError(
            "the cuda build compiles on another image than it runs on",
            where="--build-image",
            hint="--build-image NVIDIA_CUDA_DEVEL@sha256:DIGEST --base NVIDIA_CUDA_RUNTIME@sha256:DIGEST",
        )
    if recipe.build.name != "cuda" and bases.build is not None:
        raise UsageError(f"the {recipe.build.name} build compiles on --base", where="--build-image")
    return [image for _, image in bases.arguments() if not re.search(r"@sha256:[0-9a-f]{64}$", image)]


def build(recipe: Recipe, builder: Builder, source: Path, bases: Bases, *, clock: Clock, emit: Emit) -> float:
    """Build and name it; the seconds it took. Raises BuildFailed with the builder's last lines."""
    began = clock.monotonic()
    with tempfile.TemporaryDirectory(prefix="deployer-image-") as folder:
        context = Path(folder)
        (context / "Dockerfile").write_text(dockerfile(recipe.build), encoding="utf-8")
        shutil.copyfile(source, context / "source.tar.gz")
        argv = builder.build(context, recipe.name, recipe.platform, bases.arguments())
        run_or_fail(argv, f"building {recipe.name}", emit)
    return round(clock.monotonic() - began, 1)


def run_or_fail(argv: Sequence[str], what: str, emit: Emit, *, secret: str = "") -> None:
    """Run and show the lines. Raises BuildFailed with the last ones, and never with the secret."""

    def hidden(text: str) -> str:
        return text.replace(secret, "[redacted]") if secret else text

    done = run(argv, secret=secret, on_line=lambda line: emit(Event("image.line", {"line": hidden(line)})))
    if done.code:
        raise BuildFailed(
            f"{what} failed with exit code {done.code}:\n{hidden(done.text)}",
            where=" ".join(argv[:3]),
            hint="run the same command again: what was built already is kept",
        )
