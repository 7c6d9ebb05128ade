"""EngineBuild -> Dockerfile of its llama.cpp image."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.agent.containers import USER_ID
from deployer.decide.types import EngineBuild
from deployer.render.environment import render_template


@dataclass(frozen=True)
class Source:
    """A source archive. folder: where llama.cpp lies in it, below its single top folder."""

    name: str
    version: str
    sha256: str
    folder: str
    build_number: int
    build_commit: str


#: The sdist of the Python package xllamacpp 2026.10.11549 holds the whole tree of llama.cpp b11549, and package indexes
#: are reachable where GitHub is not. sha256: llama.cpp facts of 2026-11-30, section 11.
SOURCE = Source(
    name="xllamacpp-2026.10.11549.tar.gz",
    version="b11549",
    sha256="c17ee1163006f70726abb9f72137830818f3d8cb60bfc34cb232d08428eaa22b",
    folder="thirdparty/llama.cpp",
    build_number=11549,
    build_commit="xllamacpp",
)
_PLACEHOLDER = "sha256:" + "0" * 64
_DEBIAN = f"debian:bookworm-slim@{_PLACEHOLDER}"
_CUDA_DEVEL = f"nvidia/cuda:12.8.1-devel-ubuntu24.04@{_PLACEHOLDER}"
_CUDA_RUNTIME = f"nvidia/cuda:12.8.1-runtime-ubuntu24.04@{_PLACEHOLDER}"


def dockerfile(build: EngineBuild, *, port: int = 18080, host: str = "127.0.0.1", source: Source = SOURCE) -> str:
    """The Dockerfile. port, host: where the engine will answer, for the image's health check."""
    template = {"generic": "graviton" if build.architecture == "arm64" else "avx512"}.get(build.name, build.name)
    reachable = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    return render_template(
        f"docker/{template}.Dockerfile.j2",
        build=build,
        cmake_flags=cmake_flags(build, source),
        source=source,
        title=f"llama-server, {build.name} build",
        healthy=_script(render_template("docker/healthy.sh")),
        health_url=f"http://{reachable}:{port}/health",
        port=port,
        user=USER_ID,
        build_image=_CUDA_DEVEL,
        base_image=_CUDA_RUNTIME if build.name == "cuda" else _DEBIAN,
    )


def cmake_flags(build: EngineBuild, source: Source = SOURCE) -> list[str]:
    """Every word that cmake is given."""
    flags = [
        *build.cmake_flags,
        # Without git the tree does not know which build it is.
        f"-DLLAMA_BUILD_NUMBER={source.build_number}",
        f"-DLLAMA_BUILD_COMMIT={source.build_commit}",
        "-DCMAKE_BUILD_WITH_INSTALL_RPATH=ON",
        "-DCMAKE_INSTALL_RPATH=$ORIGIN",
    ]
    if build.compiler_flags:
        words = " ".join(build.compiler_flags)
        flags += [f"-DCMAKE_C_FLAGS={words}", f"-DCMAKE_CXX_FLAGS={words}"]
    if build.name == "cuda":
        # The driver's library is not in a build image; it comes with the instance.
        flags.append("-DCMAKE_EXE_LINKER_FLAGS=-Wl,--allow-shlib-undefined")
    return flags


def _script(text: str) -> list[str]:
    """The lines without what is said to readers of the source."""
    first, *others = text.splitlines()
    return [first, *(line for line in others if line and not line.startswith("#"))]
