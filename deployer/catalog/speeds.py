"""Published speeds, the weights of models as decoding touches them, and the fitted parameters of hardware classes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from deployer.catalog.source import document
from deployer.catalog.types import Hardware


@dataclass(frozen=True)
class SpeedPoint:
    """One measured speed, single stream. drafts 0: MTP off."""

    instance: str
    model: str
    quant: str
    drafts: int
    tokens_per_second: float
    source: str


@dataclass(frozen=True)
class WeightShape:
    """Weights (counts, not bytes). expert: one expert's weights in all layers together. trunk: everything every token
    uses, shared experts included, without head and embedding. trunk_bits_ratio: bits of a weight outside the experts
    to bits of one inside them."""

    trunk: float
    head: float
    embedding: float
    expert: float
    experts: int
    experts_used: int
    mtp_trunk: float
    trunk_bits_ratio: float

    def used(self, tokens: int) -> float:
        """Weights that this many tokens are multiplied with, each counted."""
        return tokens * (self.trunk + self.head + self.experts_used * self.expert)

    @property
    def weighted_parameters(self) -> float:
        """All weights of the file, those with more bits counted for more: file bytes over this is an expert's."""
        outside = self.trunk + self.head + self.embedding + self.mtp_trunk
        return outside * self.trunk_bits_ratio + self.experts * self.expert


@dataclass(frozen=True)
class ClassParameters:
    """bandwidth_efficiency: of the catalogue's figure. compute: weights/s, for a core (CPU) or the GPU measured.
    layer_overhead: seconds per layer and step. recurrent_core_seconds: per recurrent layer and token, for one core."""

    bandwidth_efficiency: float
    compute: float
    layer_overhead: float
    recurrent_core_seconds: float
    reference_bandwidth_gbs: float


#: Families by class; the first of each row is the one measured.
_CLASSES = {
    "graviton4": (("c8g", "m8g", "r8g"), ("c7g",)),
    "granite-rapids": (("c8i", "c8i-flex", "m8i", "m8i-flex", "r8i", "r8i-flex"), ("c7i",)),
    "cuda": (("g5",), ("g4dn", "g6", "g6e")),
}


@cache
def points() -> tuple[SpeedPoint, ...]:
    """Every published point the parameters were fitted to."""
    return tuple(SpeedPoint(**row) for row in document("throughput")["points"])


def point(instance: str, model: str, quant: str | None, drafts: int) -> SpeedPoint | None:
    """The published speed of exactly this combination."""
    wanted = (instance, model, quant, drafts)
    found = (p for p in points() if (p.instance, p.model, p.quant, p.drafts) == wanted)
    return next(found, None)


@cache
def shape(model: str) -> WeightShape | None:
    """The weights of a catalogue model, None when nobody has counted them."""
    row = document("throughput")["shapes"].get(model)
    return WeightShape(**row) if row else None


def acceptance() -> float:
    """Accepted over drafted at two drafts, inside the published band."""
    return float(document("throughput")["acceptance"]["used"])


def unseen_error() -> float:
    """How far a measured speed has been from what the other points predict, at most, as a share of the prediction."""
    return float(document("throughput")["unseen_error"])


def class_name(family: str) -> tuple[str, str] | None:
    """(class, `same class` or `like it`) of an instance family, or None."""
    for name, (same, similar) in _CLASSES.items():
        if family in same:
            return name, "same class"
        if family in similar:
            return name, "like it"
    return None


def class_of(hardware: Hardware) -> tuple[ClassParameters, str] | None:
    """A machine's parameters, and how near it is to one that was measured: `same size`, `same class`, `like it`."""
    found = class_name(hardware.family)
    if found is None:
        return None
    name, nearness = found
    if any(point.instance == hardware.name for point in points()):
        nearness = "same size"
    row = document("throughput")["classes"].get(name)
    return (ClassParameters(**row), nearness) if row else None
