"""The memory fit as a decision, and what is done with the host memory that is left."""

from __future__ import annotations

from dataclasses import replace

from deployer.catalog import hardware as machines
from deployer.catalog import models as catalogue
from deployer.catalog.types import GgufFile, Hardware
from deployer.decide.model import ModelChoice
from deployer.decide.types import Decision, Deployment, MemoryFit, MtpChoice
from deployer.engine.memory import GIB, HostCaches, MemoryInputs, host_caches, memory_fit
from deployer.engine.nearest import with_nearest
from deployer.errors import RefusedError
from deployer.spec.load import LoadedSpec
from deployer.spec.models import EngineSpec


def memory_inputs(
    spec: EngineSpec, model: ModelChoice, hardware: Hardware, flash_attention: str, mtp: MtpChoice
) -> MemoryInputs:
    """The deployment's memory question."""
    return MemoryInputs(
        facts=model.weights.facts,
        weights_bytes=model.weights.size_bytes,
        hardware=hardware,
        context=spec.context,
        parallel=spec.parallel,
        cache_type_k=spec.cache_type_k,
        cache_type_v=spec.cache_type_v,
        flash_attention=flash_attention != "off",
        mtp=mtp,
    )


def choose_memory(inputs: MemoryInputs, model: ModelChoice) -> tuple[MemoryFit, Decision]:
    """The fit with the nearest setting that fits, and the decision that says it."""
    fit = with_nearest(inputs, _other_files(model), machines.family_members(inputs.hardware.family))
    where = "VRAM" if fit.where == "vram" else "RAM"
    value = f"{fit.need_bytes / GIB:.1f} of {fit.have_bytes / GIB:.1f} GiB {where}"
    if model.weights.facts is None:
        reason = (
            "the model's shape and size are not known, so only the rest is counted; the engine says if it is too little"
        )
        return fit, Decision("memory", value, reason, "engine/memory.py")
    verdict = "fits" if fit.fits else "does not fit"
    return fit, Decision("memory", value, f"{verdict}: {parts_text(fit)}", "engine/memory.py", fit.nearest)


def choose_host_caches(inputs: MemoryInputs) -> tuple[HostCaches, tuple[Decision, ...]]:
    """--cache-ram and --ctx-checkpoints: llama.cpp's own defaults overrun small instances."""
    caches = host_caches(inputs)
    why = "llama.cpp takes 8192 MiB by default whatever the instance has"
    left = "from the host memory that is left"
    by = "engine/memory.py"
    prompts = f"{left}; {why}"
    states = f"saved states for each slot, {left}"
    return caches, (
        Decision("prompt_cache_mib", caches.prompt_cache_mib, prompts, by, "engine.extra_args: --cache-ram"),
        Decision("checkpoints", caches.checkpoints, states, by, "engine.extra_args: --ctx-checkpoints"),
    )


def check_fallback_fits(loaded: LoadedSpec, index: int, instance_type: str, question: MemoryInputs) -> None:
    """Raises a located SpecError for a fallback too small for a deployment that fits its first choice."""
    hardware = machines.lookup(instance_type)
    if hardware is None or not memory_fit(question).fits:
        return
    fit = memory_fit(replace(question, hardware=hardware))
    if not fit.fits:
        numbers = f"it needs {fit.need_bytes / GIB:.1f} GiB, {hardware.name} has {fit.have_bytes / GIB:.1f}"
        raise loaded.error(("instance", "fallbacks", index), f"{hardware.name} cannot hold this stack: {numbers}")


def refuse_if_unfit(deployment: Deployment) -> None:
    """Raises RefusedError (exit 3) with the numbers and the nearest setting that fits, when memory does not suffice."""
    fit = deployment.memory
    if fit.fits:
        return
    weights, hardware = deployment.weights, deployment.hardware
    model = weights.facts.name if weights.facts is not None else weights.file
    kind = "of VRAM" if fit.where == "vram" else "of RAM"
    message = (
        f"{model} ({weights.file}) does not fit on {hardware.name}: it needs {fit.need_bytes / GIB:.1f} GiB"
        f" {kind}, there are {fit.have_bytes / GIB:.1f}. {parts_text(fit)}"
    )
    hint = (
        f"nearest setting that fits: {fit.nearest}"
        if fit.nearest
        else "choose a smaller model or a larger instance family"
    )
    raise RefusedError(message, where=hardware.name, hint=hint)


def parts_text(fit: MemoryFit) -> str:
    """`weights 15.4 + kv cache 2.0 + ...` in GiB, the parts that count."""
    shown = [f"{name.replace('_', ' ')} {size / GIB:.2f}" for name, size in fit.parts if size]
    return " + ".join(shown) + " GiB"


def _other_files(model: ModelChoice) -> list[GgufFile]:
    facts = model.weights.facts
    if facts is None or model.quant is None:
        return []
    files = [catalogue.file_for(facts, quant) for quant in catalogue.quants(facts)]
    return [file for file in files if file is not None]
