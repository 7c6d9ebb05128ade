"""What a rehearsal replaces, in plain sentences for the report."""

from __future__ import annotations

import os
from collections.abc import Mapping

from deployer.rehearsal.engine.locate import find_engine
from deployer.rehearsal.machines.process import ENGINE_THREADS


def substitutions(kind: str = "process", environ: Mapping[str, str] | None = None) -> list[str]:
    """One sentence for each thing that is not what the spec names. kind: of machine. environ: finds llama-server."""
    engine = find_engine(os.environ if environ is None else environ)
    if engine.real and kind != "booted":
        program = f"llama.cpp is {engine.argv[0]} on this computer's CPU instead of the build for the instance type."
    else:
        program = "llama.cpp is that of the xllamacpp wheel on this computer's CPU instead of the named build or image"
        program += ", which has no TLS of its own: where the spec asks for it, a front on loopback speaks it."
    return [
        "AWS is an embedded emulation on loopback: nothing is bought and no account is used.",
        _MACHINES.get(kind, f"The instance is a machine of kind {kind} on this computer."),
        "The weights are a synthetic model of a few MB: the real model's architecture, dense or mixture of experts, "
        "with an MTP head where the real file has one. A local hub serves it under the real file's name.",
        program,
        f"llama.cpp computes with {ENGINE_THREADS} thread whatever the spec says, so speed and acceptance say nothing "
        "about the real model and hardware.",
    ]


_MACHINES = {
    "booted": "The instance is a container of this computer with a systemd, cloud-init, metadata service, OpenSSH, "
    "address, firewall and memory limit of its own: it is Debian, not Amazon Linux, and has neither a kernel or GPU of "
    "its own nor a way to the internet.",
    "process": "The instance is a set of processes of this computer with an address and a folder of its own: "
    "no kernel, GPU, container or memory limit of the instance type; units, user-data, metadata and ssh are real.",
}
