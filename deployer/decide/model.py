"""Which GGUF: catalogue model and quantisation, or the user's own file; what is known of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from deployer.catalog import models as catalogue
from deployer.catalog.types import GgufFile, ModelFacts
from deployer.decide.sources import Origin, repo_of, weight_sources
from deployer.decide.types import Decision, Weights
from deployer.engine.gguf import GgufHeader
from deployer.engine.gguf_facts import facts_from_header
from deployer.spec.load import LoadedSpec
from deployer.spec.models import ModelSpec

_GB = 1_000_000_000


@dataclass(frozen=True)
class KnownFile:
    """What somebody has already read of the GGUF: its header and its exact size."""

    header: GgufHeader
    size_bytes: int


@dataclass(frozen=True)
class ModelChoice:
    """quant None: not a catalogue model."""

    weights: Weights
    alias: str
    quant: str | None
    decisions: tuple[Decision, ...]


@dataclass(frozen=True)
class _Pick:
    facts: ModelFacts | None
    listed: GgufFile | None
    origin: Origin
    reason: str
    source: str
    alternative: str | None


def choose_model(
    loaded: LoadedSpec,
    region: str | None,
    overrides: Mapping[str, str],
    known: KnownFile | None,
) -> ModelChoice:
    """Raises a located SpecError for a place that cannot be. overrides: settings.mirrors."""
    spec = loaded.spec.model
    pick = _from_catalogue(spec) if spec.name is not None else _own_file(spec)
    alias = spec.alias or (pick.facts.alias if pick.facts else pick.origin.file.removesuffix(".gguf"))
    facts = pick.facts
    if known is not None and facts is None:
        facts = facts_from_header(known.header, alias)
    weights = Weights(
        file=pick.origin.file,
        sources=weight_sources(loaded, pick.origin, region, overrides),
        sha256=pick.origin.sha256,
        size_bytes=_size(pick.listed, known),
        size_exact=known is not None or (pick.listed is not None and pick.listed.size_bytes is not None),
        mtp_head=_mtp_head(spec, pick.listed, known),
        facts=facts,
    )
    return ModelChoice(
        weights, alias, pick.listed.quant if pick.listed else None, _decisions(spec, pick, weights, alias)
    )


def _from_catalogue(spec: ModelSpec) -> _Pick:
    # A name or quantisation that the catalogue lacks was refused when the spec was loaded.
    assert spec.name is not None
    facts = catalogue.lookup(spec.name)
    assert facts is not None, spec.name
    quant = spec.quant or facts.default_quant
    file = catalogue.file_for(facts, quant)
    assert file is not None, quant
    if spec.source is None:
        origin = Origin(f"modelscope://{file.repo}", file.file, spec.revision, spec.sha256 or file.sha256)
        return _Pick(
            facts, file, origin, _catalogue_reason(facts, file, spec), facts.source, _other_quants(facts, quant)
        )
    origin = Origin(spec.source, spec.file or file.file, spec.revision, spec.sha256)
    entry = catalogue.file_in(repo_of(spec.source) or "", origin.file)
    # Facts of size and shape hold for a copy elsewhere; whether the copy has a head, its name does not tell.
    listed = (
        entry[1] if entry else GgufFile(quant, file.file, "", None, None, file.size_estimate_bytes, None, file.source)
    )
    return _Pick(facts, listed, origin, f"{facts.name} {quant} from the place the spec names", "spec", None)


def _own_file(spec: ModelSpec) -> _Pick:
    assert spec.source is not None
    assert spec.file is not None
    origin = Origin(spec.source, spec.file, spec.revision, spec.sha256)
    entry = catalogue.file_in(repo_of(spec.source) or "", spec.file)
    if entry is not None:
        return _Pick(
            entry[0], entry[1], origin, f"the spec names it; the catalogue knows it as {entry[0].name}", "spec", None
        )
    return _Pick(None, None, origin, "the spec names it; the catalogue does not know it", "spec", None)


def _catalogue_reason(facts: ModelFacts, file: GgufFile, spec: ModelSpec) -> str:
    quant = f"{file.quant} is the spec's" if spec.quant else f"{file.quant} is the catalogue's default"
    head = "; this repository's files carry the MTP head" if file.mtp_head else "; only offered without an MTP head"
    return f"{facts.name} ({facts.kind}); {quant}{head}"


def _other_quants(facts: ModelFacts, quant: str) -> str:
    others = ", ".join(other for other in catalogue.quants(facts) if other != quant)
    return f"model.quant: {others}"


def _size(listed: GgufFile | None, known: KnownFile | None) -> int:
    if known is not None:
        return known.size_bytes
    if listed is None:
        return 0
    return listed.size_bytes or listed.size_estimate_bytes


def _mtp_head(spec: ModelSpec, listed: GgufFile | None, known: KnownFile | None) -> bool | None:
    if known is not None:
        return known.header.has_mtp_head
    if spec.mtp_head is not None:
        return spec.mtp_head
    return listed.mtp_head if listed is not None else None


def _decisions(spec: ModelSpec, pick: _Pick, weights: Weights, alias: str) -> tuple[Decision, ...]:
    places = [source.url for source in weights.sources]
    size = f", about {weights.size_bytes / _GB:.1f} GB" if weights.size_bytes else ""
    return (
        Decision("model_file", weights.file, f"{pick.reason}{size}", pick.source, pick.alternative),
        Decision("weights_source", places[0], _place_reason(spec, len(places)), _place_source(spec), _second(places)),
        _checksum(weights),
        Decision("alias", alias, "the name clients ask for", "spec" if spec.alias else "catalogue or file name"),
    )


def _place_reason(spec: ModelSpec, places: int) -> str:
    if spec.source is not None:
        return "the spec names it"
    reason = "reachable inside China without a filing or a proxy"
    return f"{reason}; a second hub stands by because the digest is pinned" if places > 1 else reason


def _place_source(spec: ModelSpec) -> str:
    return "spec" if spec.source is not None else "catalog/mirrors.json"


def _second(places: list[str]) -> str | None:
    return places[1] if len(places) > 1 else None


def _checksum(weights: Weights) -> Decision:
    if weights.sha256 is not None:
        return Decision("checksum", weights.sha256, "pinned: any other file is refused", "spec")
    reason = "not pinned: the hub's own listing is trusted"
    if weights.sources[0].listing_url is None:
        reason = "not pinned: the digest is only recorded"
    return Decision("checksum", None, reason, "spec", "model.sha256 and model.revision")
