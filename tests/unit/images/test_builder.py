"""Which program builds here, and the commands it is given, as data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from deployer.errors import RefusedError
from deployer.images.builder import Builder, find_builder
from deployer.images.commands import Done, run

CONTEXT = Path("/context")


def machine(**programs: str | None) -> dict[str, object]:
    """programs: name -> what it says its architecture is, None: it fails. `buildx`: that docker has it."""
    buildx = programs.pop("buildx", None)

    def which(name: str) -> str | None:
        return f"/usr/bin/{name}" if name in programs else None

    def execute(argv: Sequence[str]) -> Done:
        if argv[1] == "buildx":
            return Done(0 if buildx else 1, ())
        said = programs[argv[0]]
        return Done(0, (said,)) if said else Done(1, ("cannot connect to the daemon",))

    return {"which": which, "execute": execute}


@pytest.fixture
def refusal() -> Callable[..., RefusedError]:
    def run_it(*words: str | None, **programs: str | None) -> RefusedError:
        with pytest.raises(RefusedError) as caught:
            find_builder(*words, **machine(**programs))  # type: ignore[arg-type]
        return caught.value

    return run_it


@pytest.mark.parametrize(
    ("programs", "expected"),
    [
        ({"docker": "amd64", "podman": "amd64"}, Builder("docker", "amd64", False)),
        ({"docker": None, "podman": "x86_64"}, Builder("podman", "amd64", False)),
        ({"docker": "arm64", "buildx": "yes"}, Builder("docker", "arm64", True)),
    ],
)
def test_the_first_that_answers(programs: dict[str, str | None], expected: Builder) -> None:
    assert find_builder(**machine(**programs)) == expected  # type: ignore[arg-type]


def test_none_is_told_with_every_reason(refusal: Callable[..., RefusedError]) -> None:
    error = refusal(docker=None)
    assert "docker: cannot connect to the daemon" in error.message and "podman is not on PATH" in error.message
    assert "docker is not on PATH" in refusal().message


def test_another_architecture_needs_buildx(refusal: Callable[..., RefusedError]) -> None:
    error = refusal("arm64", docker="amd64")
    assert "docker here builds for amd64 only" in error.message and error.exit_code == 3
    assert find_builder("arm64", **machine(docker="amd64", buildx="yes")).buildx  # type: ignore[arg-type]


def test_build_commands() -> None:
    arguments = [("BASE_IMAGE", "debian@sha256:1 --privileged")]
    plain = Builder("docker", "amd64", False).build(CONTEXT, "a:b", "amd64", arguments)
    assert plain[:4] == ["docker", "build", "--build-arg", "BASE_IMAGE=debian@sha256:1 --privileged"]
    assert plain[-5:] == ["--tag", "a:b", "--file", "/context/Dockerfile", "/context"]
    cross = Builder("docker", "amd64", True).build(CONTEXT, "a:b", "arm64", arguments)
    assert cross[:7] == ["docker", "buildx", "build", "--load", "--provenance=false", "--platform", "linux/arm64"]
    assert Builder("podman", "amd64", False).build(CONTEXT, "a:b", "amd64", [])[:4] == [
        "podman", "build", "--format", "docker",
    ]  # fmt: skip


@pytest.mark.parametrize("program", ["docker", "podman"])
def test_a_login_stays_apart_and_out_of_argv(program: str) -> None:
    builder = Builder(program, "amd64", False)  # type: ignore[arg-type]
    login = builder.login(Path("/here"), "registry.example", "AWS")
    assert "--password-stdin" in login and any("/here" in word for word in login)
    assert any("/here" in word for word in builder.push(Path("/here"), "registry.example/a:b"))


def test_running_keeps_the_last_lines_and_gives_the_secret_to_stdin() -> None:
    seen: list[str] = []
    script = "read word; echo got $word; i=0; while [ $i -lt 50 ]; do echo line $i; i=$((i+1)); done; exit 3"
    done = run(["sh", "-c", script], secret="word\n", on_line=seen.append)
    assert (done.code, done.lines[-1], len(done.lines)) == (3, "line 49", 20)
    assert seen[0] == "got word" and len(seen) == 51
    assert run(["sh", "-c", "kill -9 $$"]).code == 137
    assert run(["true"], secret="nobody reads this").code == 0
