"""The three Dockerfiles: pinned, nothing fetched but packages, flags as decided, and text that stays in its quotes."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from deployer.catalog import hardware
from deployer.decide.types import EngineBuild
from deployer.engine.build import Name, engine_build
from deployer.render.dockerfiles import SOURCE, dockerfile

BUILDS: list[tuple[Name, str]] = [
    ("graviton", "c8g.4xlarge"),
    ("graviton", "c7g.4xlarge"),
    ("avx512", "c8i.4xlarge"),
    ("cuda", "g5.xlarge"),
    ("cuda", "g6e.xlarge"),
    ("generic", "c8i.4xlarge"),
    ("generic", "c8g.4xlarge"),
]


@pytest.fixture(params=BUILDS, ids=lambda pair: "-".join(pair))
def build(request: pytest.FixtureRequest) -> EngineBuild:
    name, instance_type = request.param
    found = hardware.lookup(instance_type)
    assert found is not None
    return engine_build(name, found)


def instructions(text: str) -> list[tuple[str, str]]:
    """(instruction, rest) with continuation lines joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(line.split()[0], line.split(maxsplit=1)[1]) for line in joined.splitlines() if line.strip()]


def cmake_words(text: str) -> list[str]:
    (command,) = [rest for name, rest in instructions(text) if name == "RUN" and "cmake -S" in rest]
    return shlex.split(command.split(" && cmake --build")[0])


def test_the_flags_are_the_decided_ones(build: EngineBuild) -> None:
    words = cmake_words(dockerfile(build))
    assert [word for word in words if word in build.cmake_flags] == list(build.cmake_flags)
    assert "-DLLAMA_BUILD_NUMBER=11549" in words
    assert "-DCMAKE_INSTALL_RPATH=$ORIGIN" in words
    for flag in build.compiler_flags:
        assert f"-DCMAKE_CXX_FLAGS={flag}" in words


def test_two_stages_pinned_bases_and_no_root(build: EngineBuild) -> None:
    text = dockerfile(build)
    steps = instructions(text)
    assert [rest for name, rest in steps if name == "FROM"][-1] == "${BASE_IMAGE}"
    assert len([1 for name, _ in steps if name == "FROM"]) == 2
    assert all(re.search(r"@sha256:[0-9a-f]{64}\"$", rest) for name, rest in steps if name == "ARG" and "IMAGE" in rest)
    assert [rest for name, rest in steps if name == "USER"] == ["10001:10001"]
    assert next(rest for name, rest in steps if name == "COPY") == "source.tar.gz /tmp/source.tar.gz"


def test_nothing_is_fetched_but_packages(build: EngineBuild) -> None:
    text = dockerfile(build)
    assert SOURCE.sha256 in text and "sha256sum --check --strict" in text
    assert "-DLLAMA_BUILD_UI=OFF" in text and "-DLLAMA_USE_PREBUILT_UI=OFF" in text
    urls = re.findall(r"https?://[^\s\"]+", text)
    assert urls == ["http://127.0.0.1:18080/health"]
    assert not re.search(r"\b(wget|git|pip|ADD)\b", text)


def test_the_health_check_asks_the_real_port(build: EngineBuild) -> None:
    assert 'HEALTH_URL="http://10.0.0.7:18443/health"' in dockerfile(build, port=18443, host="10.0.0.7")
    assert 'HEALTH_URL="http://127.0.0.1:18443/health"' in dockerfile(build, port=18443, host="0.0.0.0")
    assert "EXPOSE 18443\n" in dockerfile(build, port=18443)


def test_each_build_has_its_own_template() -> None:
    first_lines = {name: dockerfile(_any(name)).splitlines()[0] for name in ("graviton", "avx512", "cuda")}
    assert len(set(first_lines.values())) == 3


def _any(name: str) -> EngineBuild:
    type_ = dict(reversed(BUILDS))[name]  # type: ignore[index]
    found = hardware.lookup(type_)
    assert found is not None
    return engine_build(name, found)  # type: ignore[arg-type]


def test_hostile_flags_stay_words() -> None:
    words = ("-DX=$(id) `id` \"'", "-DY=a;b && reboot", "-DZ=#${HOME}")
    hostile = replace(_any("avx512"), cmake_flags=words)
    text = dockerfile(hostile)
    assert [word for word in cmake_words(text) if word in words] == list(words)
    (command,) = [rest for name, rest in instructions(text) if name == "RUN" and "cmake -S" in rest]
    printed = subprocess.run(
        ["sh", "-c", f"cmake() {{ printf '%s\\n' \"$@\"; }}; {command.split(' && cmake --build')[0]}"],
        capture_output=True, text=True, check=True,
    ).stdout.splitlines()  # fmt: skip
    assert [word for word in printed if word in words] == list(words)


def program(name: str) -> str | None:
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))


HADOLINT = program("hadolint")
SHELLCHECK = program("shellcheck")
ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.skipif(HADOLINT is None, reason="hadolint is not installed here")
def test_hadolint(build: EngineBuild, tmp_path: Path) -> None:
    path = tmp_path / "Dockerfile"
    path.write_text(dockerfile(build))
    answer = subprocess.run([str(HADOLINT), str(path)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.skipif(SHELLCHECK is None, reason="shellcheck is not installed here")
@pytest.mark.parametrize("script", sorted([*ROOT.glob("bench/*.sh"), *ROOT.glob("templates/**/*.sh")]), ids=str)
def test_shellcheck(script: Path) -> None:
    answer = subprocess.run([str(SHELLCHECK), str(script)], capture_output=True, text=True, check=False)
    assert (answer.returncode, answer.stdout) == (0, "")


@pytest.mark.parametrize(
    ("words", "asked"),
    [
        (["--host", "0.0.0.0", "--port", "18443"], "http://127.0.0.1:18443/health"),
        (["--port", "18443", "--host", "10.0.0.7"], "http://10.0.0.7:18443/health"),
        (["--port", "443", "--ssl-cert-file", "/c.pem"], "https://127.0.0.1:443/health"),
        (["-c", "4096"], "http://127.0.0.1:18080/health"),
    ],
)
def test_the_health_check_follows_the_command_line(words: list[str], asked: str, tmp_path: Path) -> None:
    (script,) = [rest for name, rest in instructions(dockerfile(_any("avx512"))) if "healthy" in rest and name == "RUN"]
    made = tmp_path / "healthy"
    subprocess.run(["sh", "-c", script.replace("/opt/llama/bin/healthy", str(made))], check=True)
    (tmp_path / "cmdline").write_bytes(b"\0".join(word.encode() for word in ["tini", "--", "llama-server", *words]))
    text = made.read_text().replace("/proc/1/cmdline", str(tmp_path / "cmdline")).replace("exec curl", "echo")
    answer = subprocess.run(
        ["sh", "-c", text], capture_output=True, text=True, check=True,
        env={**os.environ, "HEALTH_URL": "http://127.0.0.1:18080/health"},
    )  # fmt: skip
    assert answer.stdout.split()[-1] == asked
