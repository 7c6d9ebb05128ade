"""The multi-token-prediction rule: on for GPUs, off for CPUs, the user's word before both."""

from __future__ import annotations

from dataclasses import dataclass

from deployer.catalog.types import Hardware
from deployer.decide.types import MtpChoice
from deployer.spec.models import MtpSpec

#: Drafts a step. One head is chained on itself, so acceptance falls with depth; 2 is best or near best on most GPUs.
DEFAULT_DRAFT_N_MAX = 2
#: llama.cpp moved its own default from 0.75 to 0.0 in silence, so it is always passed.
DEFAULT_DRAFT_P_MIN = 0.0

_ARTICLE = "AWS China blog 2026-07-24"


@dataclass(frozen=True)
class MtpVerdict:
    """refused: the spec asks for what the file cannot do. unverified: on, but nobody knows whether there is a head."""

    choice: MtpChoice
    reason: str
    source: str
    alternative: str
    refused: bool = False
    unverified: bool = False


def choose_mtp(spec: MtpSpec, hardware: Hardware, head: bool | None, model: str | None) -> MtpVerdict:
    """Decide. head: whether the GGUF carries an MTP head, None when unknown. model: catalogue name, for exceptions."""
    match (spec.mode, head):
        case ("off", _):
            return _off(spec, "the spec says so", "spec", "engine.mtp: auto")
        case ("on", False):
            verdict = _off(
                spec, "the GGUF has no MTP head", "catalogue", "the MTP repository's file, or engine.mtp: off"
            )
            return MtpVerdict(verdict.choice, verdict.reason, verdict.source, verdict.alternative, refused=True)
        case ("on", None):
            reason = "the spec says so; whether the GGUF has a head is not known, llama-server ends at start if not"
            return MtpVerdict(_choice(spec, True), reason, "spec", "engine.mtp: off", unverified=True)
        case ("on", _):
            return MtpVerdict(_choice(spec, True), _on_reason(hardware, model), "spec", "engine.mtp: off")
        case (_, False):
            return _off(spec, "the GGUF has no MTP head", "catalogue", "the MTP repository's file of this model")
        case (_, None):
            reason = "it is not known whether the GGUF has an MTP head, and llama-server ends at start without one"
            return _off(spec, reason, "rule: never guess", "model.mtp_head: true, or engine.mtp: on")
        case _:
            return _by_hardware(spec, hardware, model)


def _by_hardware(spec: MtpSpec, hardware: Hardware, model: str | None) -> MtpVerdict:
    if hardware.gpu is not None:
        return MtpVerdict(
            _choice(spec, True),
            f"{hardware.gpu.name} has compute to spare while memory limits decoding, so drafts are nearly free"
            " (27B on A10G: 26.17 to 47.89 tok/s)",
            _ARTICLE,
            "engine.mtp: off, or another draft_n_max",
        )
    reason = "on CPUs the verification costs more than the drafts save (35B-A3B on c8g: 39.34 to 23.72 tok/s)"
    exception = " This pair is the one exception measured: 27B on c8i went from 4.56 to 5.36 tok/s with MTP."
    if _is_exception(hardware, model):
        reason += f".{exception} It stays off until you ask for it."
    return _off(spec, reason, _ARTICLE, "engine.mtp: on")


def _on_reason(hardware: Hardware, model: str | None) -> str:
    if hardware.gpu is None and not _is_exception(hardware, model):
        return "the spec says so, against the rule for CPUs (35B-A3B on c8g: 39.34 tok/s without, 23.72 with)"
    if hardware.gpu is None:
        return "the spec says so; 27B on c8i is the one CPU pair measured faster with it (4.56 to 5.36 tok/s)"
    return "the spec says so, and the hardware rule agrees"


def _is_exception(hardware: Hardware, model: str | None) -> bool:
    return model == "Qwen3.6-27B" and hardware.family.split("-")[0] in {"c8i", "m8i", "r8i"}


def _choice(spec: MtpSpec, enabled: bool) -> MtpChoice:
    if not enabled:
        return MtpChoice(enabled=False, draft_n_max=0, draft_p_min=0.0)
    n_max = DEFAULT_DRAFT_N_MAX if spec.draft_n_max is None else spec.draft_n_max
    p_min = DEFAULT_DRAFT_P_MIN if spec.draft_p_min is None else spec.draft_p_min
    return MtpChoice(enabled=True, draft_n_max=n_max, draft_p_min=p_min)


def _off(spec: MtpSpec, reason: str, source: str, alternative: str) -> MtpVerdict:
    return MtpVerdict(_choice(spec, False), reason, source, alternative)
