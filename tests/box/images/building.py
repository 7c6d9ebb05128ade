"""llama.cpp compiled with what a Dockerfile says, outside of docker; kept in the person's cache between runs."""

from __future__ import annotations

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from platformdirs import user_cache_path

from deployer.images.build import check_source
from deployer.images.recipe import Recipe, recipe_for
from deployer.rehearsal import tiny_model
from deployer.render.dockerfiles import SOURCE, cmake_flags
from deployer.settings import Settings

#: Of the person, read before the tests get a home of their own. Compilers run for a quarter of an hour the first time.
CACHE = user_cache_path("deployer-box")
_PACKAGE = "xllamacpp"


def need(*programs: str, packages: str) -> None:
    """Fail the test, saying why, unless all are installed. packages: Debian's names."""
    lacking = [name for name in programs if shutil.which(name) is None]
    if lacking:
        pytest.fail(f"{', '.join(lacking)} not installed (Debian: {packages})", pytrace=False)


def recipe(instance_type: str) -> Recipe:
    return recipe_for(instance_type, Settings.from_env({}))


def archive() -> Path:
    """The pinned source archive, from a package index the first time."""
    place = CACHE / "src" / SOURCE.name
    if not place.is_file():
        need("pip", packages="python3-pip")
        place.parent.mkdir(parents=True, exist_ok=True)
        version = SOURCE.name.removeprefix(f"{_PACKAGE}-").removesuffix(".tar.gz")
        wanted = ["--no-deps", "--no-binary", _PACKAGE, f"{_PACKAGE}=={version}"]
        subprocess.run(["pip", "download", "--quiet", *wanted, "--dest", str(place.parent)], check=True)
    return check_source(place)


def tree() -> Path:
    """llama.cpp's source."""
    top = CACHE / "src" / SOURCE.name.removesuffix(".tar.gz")
    if not top.is_dir():
        draft = top.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        with tarfile.open(archive()) as packed:
            packed.extractall(draft, filter="data")
        (draft / top.name).rename(top)
        draft.rmdir()
    return top / SOURCE.folder


def tiny(name: str = "tiny-mtp.gguf") -> Path:
    """The tiny model with an MTP head."""
    place = CACHE / name
    if not place.is_file():
        tiny_model.write(place, endless=True)
    return place


def configure(made_for: Recipe, folder: Path, *extra: str) -> None:
    """Give cmake exactly the words of the Dockerfile. extra: what this machine needs to compile for another."""
    need("cmake", "ninja", "g++", packages="cmake ninja-build g++")
    words = [*cmake_flags(made_for.build), *extra]
    kept = folder / "words.txt"
    if kept.is_file() and kept.read_text() == "\n".join(words):
        return
    command = ["cmake", "-S", str(tree()), "-B", str(folder), "-G", "Ninja", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    kept.write_text("\n".join(words))


def compile_target(folder: Path, target: str) -> None:
    """Low priority: it is long the first time, and one second after that."""
    command = ["nice", "-n", "15", "ninja", "-C", str(folder), "-j2", target]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
