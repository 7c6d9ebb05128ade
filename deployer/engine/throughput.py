"""How fast a model decodes on a machine: bytes moved, arithmetic done, and what each step costs besides. Pure.

One step puts k tokens of each slot through the trunk:

    t(k) = max(bytes touched / bandwidth, tokens x weights used / compute)
           + layers x overhead + recurrent layers x (tokens after a slot's first) x recurrent

Bytes grow with k only through the experts that k tokens choose between them, the caches and the recurrent states.
The last term is the delta-net's own work: a verified batch goes through its state token by token, in time that more
cores shorten. With MTP a cycle is n drafts, the head's own catching up, and one step of n + 1 tokens; it yields
1 + n x acceptance tokens. The parameters of each hardware class are fitted by bench/fit_throughput.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from deployer.catalog import speeds
from deployer.catalog.speeds import ClassParameters, WeightShape
from deployer.catalog.types import Hardware, ModelFacts

#: Half-width of the band around a speed that was measured on this hardware, as a share of it.
MEASURED_BAND = 0.10
#: What is added to the model's error at points that it has not seen, by how far the machine is from those that were
#: measured. Assumed: nobody has published speeds of other sizes and families.
FARTHER = {"same size": 0.0, "same class": 0.10, "like it": 0.25}
#: What prompt processing gains over verifying three tokens, assumed: large batches use the arithmetic units better, and
#: a GPU's tensor cores only start there.
PREFILL_GAIN = 2.5
PREFILL_GAIN_GPU = 10.0
PREFILL_BAND = 0.6
#: Tokens in the cache during the article's measurements, which used short prompts.
SHORT_CONTEXT = 512


@dataclass(frozen=True)
class Workload:
    """drafts: 0 is MTP off. filled: tokens of context in use per slot. parallel: slots decoding at once."""

    drafts: int = 0
    parallel: int = 1
    filled: int = SHORT_CONTEXT
    acceptance: float | None = None


@dataclass(frozen=True)
class Prediction:
    """tokens_per_second: of all slots together; low and high bound it. evidence: measured here, measured by SOURCE,
    or modelled with its band. prefill_tokens_per_second is always modelled."""

    tokens_per_second: float
    low: float
    high: float
    evidence: str
    kind: Literal["measured here", "measured", "modelled"]
    prefill_tokens_per_second: float
    acceptance: float | None

    def first_token_seconds(self, prompt_tokens: int) -> float:
        """Modelled time to the first token of a prompt of so many tokens, without waiting for a slot."""
        return prompt_tokens / self.prefill_tokens_per_second + 1 / self.tokens_per_second


def predict(
    hardware: Hardware,
    facts: ModelFacts | None,
    weights_bytes: int,
    quant: str | None,
    work: Workload,
    measured_here: float | None = None,
) -> Prediction | None:
    """The speed to expect, or None where the model's shape or the machine's class is unknown."""
    shape = speeds.shape(facts.name) if facts is not None else None
    found = speeds.class_of(hardware)
    if facts is None or shape is None or found is None:
        return None
    parameters, nearness = found
    rate = model_rate(hardware, facts, shape, parameters, weights_bytes, work)
    prefill = prefill_rate(hardware, shape, parameters)
    acceptance = _acceptance(work) if work.drafts else None
    if measured_here is not None:
        return _prediction(measured_here, MEASURED_BAND, "measured here", "measured here", prefill, acceptance)
    point = speeds.point(hardware.name, facts.name, quant, work.drafts) if _like_the_article(work) else None
    if point is not None:
        evidence = f"measured by {point.source}"
        return _prediction(point.tokens_per_second, MEASURED_BAND, evidence, "measured", prefill, acceptance)
    band = speeds.unseen_error() + FARTHER[nearness]
    return _prediction(rate, band, f"modelled ± {band:.0%}", "modelled", prefill, acceptance)


def model_rate(
    hardware: Hardware,
    facts: ModelFacts,
    shape: WeightShape,
    parameters: ClassParameters,
    weights_bytes: int,
    work: Workload,
) -> float:
    """Tokens a second by the formula alone, whatever has been measured."""
    machine = _machine(hardware, parameters)
    model = _Model(facts, shape, weights_bytes / shape.weighted_parameters)
    if work.drafts == 0:
        return work.parallel / _step_seconds(machine, model, work, 1)
    drafting = (work.drafts + 1) * _draft_seconds(machine, model, work)
    cycle = drafting + _step_seconds(machine, model, work, work.drafts + 1)
    return work.parallel * (1 + accepted_drafts(work.drafts, _acceptance(work))) / cycle


def prefill_rate(hardware: Hardware, shape: WeightShape, parameters: ClassParameters) -> float:
    """Prompt tokens a second, modelled: compute-bound, every token through the weights that one token uses."""
    gain = PREFILL_GAIN if hardware.gpu is None else PREFILL_GAIN_GPU
    return _machine(hardware, parameters).compute * gain / shape.used(1)


def accepted_drafts(drafts: int, acceptance: float) -> float:
    """Accepted drafts of a cycle. acceptance: accepted over drafted at two drafts, as the engine logs it.

    A draft counts only when every one before it was accepted, so the chance falls with the position.
    """
    each = ((1 + 8 * acceptance) ** 0.5 - 1) / 2  # each + each^2 = 2 x acceptance
    return float(sum(each**position for position in range(1, drafts + 1)))


def distinct_experts(experts: int, used: int, tokens: int) -> float:
    """Experts of a layer that a batch of tokens needs between them, when each chooses independently."""
    return experts * (1 - (1 - used / experts) ** tokens) if experts else 0.0


@dataclass(frozen=True)
class _Machine:
    """bandwidth in bytes/s, compute in weights/s, the rest in seconds."""

    bandwidth: float
    compute: float
    layer_overhead: float
    recurrent: float


@dataclass(frozen=True)
class _Model:
    facts: ModelFacts
    shape: WeightShape
    bytes_per_weight: float

    @property
    def recurrent_layers(self) -> int:
        return self.facts.layers - self.facts.full_attention_layers

    @property
    def cache_row_bytes(self) -> int:
        return self.facts.full_attention_layers * self.facts.kv_heads * self.facts.head_dim * 2 * 2


def _machine(hardware: Hardware, parameters: ClassParameters) -> _Machine:
    gpu = hardware.gpu
    if gpu is not None:
        # Layers are split over the GPUs and run one after the other: more memory, not more speed.
        share = gpu.bandwidth_gbs / parameters.reference_bandwidth_gbs
        return _Machine(gpu.bandwidth_gbs * 1e9 * parameters.bandwidth_efficiency, parameters.compute * share, 0.0, 0.0)
    peak = hardware.memory_bandwidth_gbs or parameters.reference_bandwidth_gbs
    return _Machine(
        bandwidth=peak * 1e9 * parameters.bandwidth_efficiency,
        compute=parameters.compute * hardware.cores,
        layer_overhead=parameters.layer_overhead,
        recurrent=parameters.recurrent_core_seconds / hardware.cores,
    )


def _step_seconds(machine: _Machine, model: _Model, work: Workload, each: int) -> float:
    facts, shape = model.facts, model.shape
    tokens = work.parallel * each
    experts = distinct_experts(shape.experts, shape.experts_used, tokens)
    weights = (shape.trunk + shape.head) * shape.trunk_bits_ratio + experts * shape.expert
    moved = weights * model.bytes_per_weight
    moved += work.parallel * work.filled * model.cache_row_bytes
    moved += 2 * tokens * facts.recurrent_state_bytes
    attention = facts.full_attention_layers * facts.attention_heads * facts.head_dim * 2 * work.filled
    arithmetic = tokens * (shape.used(1) + attention)
    sequential = model.recurrent_layers * work.parallel * (each - 1) * machine.recurrent
    busy = max(moved / machine.bandwidth, arithmetic / machine.compute)
    return busy + facts.layers * machine.layer_overhead + sequential


def _draft_seconds(machine: _Machine, model: _Model, work: Workload) -> float:
    shape = model.shape
    per_layer = shape.expert / model.facts.layers
    experts = distinct_experts(shape.experts, shape.experts_used, work.parallel) * per_layer
    weights = (shape.mtp_trunk + shape.head) * shape.trunk_bits_ratio + experts
    used = shape.mtp_trunk + shape.head + shape.experts_used * per_layer
    busy = max(weights * model.bytes_per_weight / machine.bandwidth, work.parallel * used / machine.compute)
    return busy + machine.layer_overhead


def _acceptance(work: Workload) -> float:
    return speeds.acceptance() if work.acceptance is None else work.acceptance


def _like_the_article(work: Workload) -> bool:
    return work.parallel == 1 and work.filled <= 2048 and work.acceptance is None


def _prediction(
    rate: float,
    band: float,
    evidence: str,
    kind: Literal["measured here", "measured", "modelled"],
    prefill: float,
    acceptance: float | None,
) -> Prediction:
    return Prediction(rate, rate * (1 - band), rate * (1 + band), evidence, kind, prefill, acceptance)
