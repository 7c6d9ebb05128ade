"""What an engine image is made of and called: one recipe for each build on each kind of hardware."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

from deployer.catalog import hardware as catalogue
from deployer.catalog import registry
from deployer.catalog.types import Hardware
from deployer.decide.engine import image_tag
from deployer.decide.types import EngineBuild
from deployer.engine.build import engine_build, natural_build
from deployer.engine.dialect import DEFAULT_BUILD
from deployer.errors import UsageError
from deployer.settings import Settings

#: Docker's words for our architectures.
PLATFORMS = {"x86_64": "amd64", "arm64": "arm64"}


@dataclass(frozen=True)
class Recipe:
    """hardware: what it is made for, for people to read."""

    build: EngineBuild
    dialect: str
    hardware: str

    @property
    def tag(self) -> str:
        """The tag here and in ECR."""
        return image_tag(self.build, self.dialect)

    @property
    def name(self) -> str:
        """The image's name on the machine that builds it."""
        return f"{registry.own_repository()}:{self.tag}"

    @property
    def platform(self) -> str:
        """The architecture as docker calls it: `amd64` or `arm64`."""
        return PLATFORMS[self.build.architecture]

    @property
    def flags(self) -> tuple[str, ...]:
        """Everything the compiler is told."""
        return (*self.build.cmake_flags, *self.build.compiler_flags)


def recipe_for(what: str, settings: Settings) -> Recipe:
    """For a spec's path or an EC2 instance type. Raises UsageError for neither, SpecError for a spec with mistakes."""
    hardware = catalogue.lookup(what)
    if hardware is not None:
        return _natural(hardware)
    if what.endswith((".yaml", ".yml")) or Path(what).is_file():
        return _of_spec(Path(what), settings)
    raise UsageError(
        f"{what!r} is neither a spec's path nor an instance type we know",
        hint="deployer image build stacks/g5-27b-mtp.yaml, or g5.xlarge",
    )


@cache
def known_recipes() -> dict[str, tuple[Recipe, tuple[str, ...]]]:
    """Tag -> its recipe and the instance families it is made for: what this version would build for the catalogue."""
    found: dict[str, tuple[Recipe, tuple[str, ...]]] = {}
    for name in catalogue.all_types():
        hardware = catalogue.lookup(name)
        assert hardware is not None
        recipe = _natural(hardware)
        families = found[recipe.tag][1] if recipe.tag in found else ()
        if hardware.family not in families:
            found[recipe.tag] = (recipe, (*families, hardware.family))
    return found


def _natural(hardware: Hardware) -> Recipe:
    return Recipe(engine_build(natural_build(hardware), hardware), DEFAULT_BUILD, hardware.name)


def _of_spec(path: Path, settings: Settings) -> Recipe:
    from deployer.decide.decide import decide
    from deployer.spec.load import load_spec
    from deployer.spec.models import LocalStack

    loaded = load_spec(path, settings)
    if isinstance(loaded.spec, LocalStack):
        raise UsageError(f"{path}: a local stack runs llama-server as a process, without an image", where=str(path))
    deployment = decide(loaded, settings)
    return Recipe(deployment.engine.build, deployment.engine.dialect, deployment.hardware.name)
