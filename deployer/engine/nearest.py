"""The nearest setting that fits: one change of the spec, the mildest first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from deployer.catalog.types import GgufFile, Hardware
from deployer.decide.types import MemoryFit, MtpChoice
from deployer.engine.memory import CACHE_BLOCK_BYTES, MemoryInputs, memory_fit

_LEAST_CONTEXT = 2048
_MTP_OFF = MtpChoice(enabled=False, draft_n_max=0, draft_p_min=0.0)


@dataclass(frozen=True)
class Change:
    """settings: dotted spec key -> value. inputs: the deployment's memory question with the change made."""

    settings: tuple[tuple[str, str], ...]
    inputs: MemoryInputs

    def __str__(self) -> str:
        return " and ".join(f"{key}: {value}" for key, value in self.settings)


def nearest_change(inputs: MemoryInputs, files: Iterable[GgufFile], sizes: Iterable[Hardware]) -> Change | None:
    """The first change of `changes` that fits, None when none does."""
    return next((change for change in changes(inputs, files, sizes) if memory_fit(change.inputs).fits), None)


def changes(inputs: MemoryInputs, files: Iterable[GgufFile], sizes: Iterable[Hardware]) -> Iterator[Change]:
    """Every change worth trying, in this order: nearly lossless cache, less context (to a quarter), fewer slots,
    fewer drafts, a smaller quantisation (largest first), a larger instance (smallest first), little context.

    files: the model's other files, one for each quantisation. sizes: the family's sizes.
    """
    yield from _cache_types(inputs)
    yield from _contexts(inputs, least=max(_LEAST_CONTEXT, inputs.context // 4))
    yield from _slots(inputs)
    yield from _drafts(inputs)
    yield from _quants(inputs, files)
    yield from _sizes(inputs, sizes)
    yield from _contexts(inputs, least=_LEAST_CONTEXT)


def _cache_types(inputs: MemoryInputs) -> Iterator[Change]:
    now = CACHE_BLOCK_BYTES[inputs.cache_type_k] + CACHE_BLOCK_BYTES[inputs.cache_type_v]
    # A quantised V cache needs flash attention.
    if inputs.flash_attention and now > 2 * CACHE_BLOCK_BYTES["q8_0"]:
        settings = (("engine.cache_type_k", "q8_0"), ("engine.cache_type_v", "q8_0"))
        yield Change(settings, replace(inputs, cache_type_k="q8_0", cache_type_v="q8_0"))


def _contexts(inputs: MemoryInputs, least: int) -> Iterator[Change]:
    context = inputs.context // 2
    while context >= least:
        yield Change((("engine.context", str(context)),), replace(inputs, context=context))
        context //= 2


def _slots(inputs: MemoryInputs) -> Iterator[Change]:
    for parallel in range(inputs.parallel - 1, 0, -1):
        yield Change((("engine.parallel", str(parallel)),), replace(inputs, parallel=parallel))


def _drafts(inputs: MemoryInputs) -> Iterator[Change]:
    if not inputs.mtp.enabled:
        return
    for n_max in range(inputs.mtp.draft_n_max - 1, 0, -1):
        fewer = replace(inputs.mtp, draft_n_max=n_max)
        yield Change((("engine.mtp.draft_n_max", str(n_max)),), replace(inputs, mtp=fewer))
    yield Change((("engine.mtp", "off"),), replace(inputs, mtp=_MTP_OFF))


def _quants(inputs: MemoryInputs, files: Iterable[GgufFile]) -> Iterator[Change]:
    for file in sorted(files, key=lambda f: f.size_estimate_bytes, reverse=True):
        if file.size_estimate_bytes < inputs.weights_bytes and not (inputs.mtp.enabled and file.mtp_head is False):
            size = file.size_bytes or file.size_estimate_bytes
            yield Change((("model.quant", file.quant),), replace(inputs, weights_bytes=size))


def _sizes(inputs: MemoryInputs, sizes: Iterable[Hardware]) -> Iterator[Change]:
    for hardware in sizes:
        if hardware.vcpus > inputs.hardware.vcpus:
            yield Change((("instance.type", hardware.name),), replace(inputs, hardware=hardware))


def with_nearest(inputs: MemoryInputs, files: Iterable[GgufFile], sizes: Iterable[Hardware]) -> MemoryFit:
    """The fit, and when it does not fit, the nearest change in words."""
    fit = memory_fit(inputs)
    if fit.fits:
        return fit
    change = nearest_change(inputs, files, sizes)
    return replace(fit, nearest=str(change) if change is not None else None)
