"""StackSpec + facts -> Deployment: the only place where choices are made. Pure: nothing is read but package data."""

from __future__ import annotations

from dataclasses import dataclass, replace

from deployer.catalog import partition as partitions
from deployer.catalog.types import Hardware, Partition
from deployer.decide import engine, instance, memory, network, place
from deployer.decide.document import plan_document
from deployer.decide.findings import Findings
from deployer.decide.memory import refuse_if_unfit
from deployer.decide.model import KnownFile, ModelChoice, choose_model
from deployer.decide.types import BoxPaths, Decision, Deployment, EngineBuild, EngineChoice, MtpChoice
from deployer.engine.argv import ArgvInputs, render_argv
from deployer.engine.dialect import Dialect, dialect
from deployer.engine.memory import HostCaches, MemoryInputs
from deployer.engine.mtp import MtpVerdict, choose_mtp
from deployer.errors import RefusedError
from deployer.settings import Settings
from deployer.spec.load import LoadedSpec
from deployer.spec.models import Ec2Stack, EngineSpec
from deployer.spec.network import tls_of

__all__ = ["KnownFile", "decide", "plan_document", "refuse_if_unfit"]


def decide(
    loaded: LoadedSpec,
    settings: Settings,
    *,
    hardware: Hardware | None = None,
    paths: BoxPaths | None = None,
    known_file: KnownFile | None = None,
) -> Deployment:
    """Decide everything.

    hardware: of this machine for a local stack (then required); for EC2 a fallback to decide for instead of the first.
    paths: where things lie on the machine. known_file: the GGUF's header and size, when somebody has read it.
    Raises SpecError with every located mistake, RefusedError when MTP is asked of a GGUF known to lack the head.
    """
    box = paths or BoxPaths()
    language = dialect()
    partition, region = _place(loaded, settings)
    basics = _basics(loaded, settings, region, hardware, known_file)
    spec, model, machine = loaded.spec, basics.model, basics.hardware
    verdict = _mtp(loaded, machine, model, language)
    runtime, runtime_why = engine.choose_runtime(loaded)
    image, image_why = engine.choose_image(spec.engine, runtime, basics.build, language)
    threads, threads_why = engine.choose_threads(spec.engine, machine)
    attention, attention_why = engine.choose_flash_attention(spec.engine, machine)
    host, host_why = network.choose_host(spec.endpoint)
    question = memory.memory_inputs(spec.engine, model, machine, attention, verdict.choice)
    fit, fit_why = memory.choose_memory(question, model)
    caches, caches_why = memory.choose_host_caches(question)
    machine_part = _instance(loaded, spec, question, model) if isinstance(spec, Ec2Stack) else _LOCAL
    chosen = EngineChoice(
        runtime=runtime,
        build=basics.build,
        image=image,
        dialect=language.build,
        argv=(),
        alias=model.alias,
        host=host,
        port=spec.endpoint.port,
        context=spec.engine.context,
        parallel=spec.engine.parallel,
        threads=threads,
        mtp=verdict.choice,
    )
    tls = tls_of(spec.endpoint)
    argv_inputs = _argv_inputs(chosen, question, caches, attention, box, model, spec.engine.extra_args, tls=tls)
    argv = render_argv(argv_inputs, language)
    decisions = (
        place.describe_hardware(machine),
        basics.build_why,
        runtime_why,
        image_why,
        engine.describe_dialect(language),
        *model.decisions,
        *engine.describe_shape(spec.engine),
        threads_why,
        engine.describe_cache_types(spec.engine),
        attention_why,
        *_mtp_decisions(spec.engine, verdict),
        fit_why,
        *caches_why,
        host_why,
        *network.choose_tls(spec.endpoint),
        *network.port_warnings(spec.endpoint, partition),
        *machine_part.decisions,
    )
    return Deployment(
        spec=spec,
        spec_digest=loaded.digest,
        hardware=machine,
        partition=partition,
        engine=replace(chosen, argv=argv),
        weights=model.weights,
        memory=fit,
        paths=box,
        root_volume_gib=machine_part.volume_gib,
        decisions=decisions,
        ssh_user=machine_part.login,
    )


@dataclass(frozen=True)
class _Basics:
    model: ModelChoice
    hardware: Hardware
    build: EngineBuild
    build_why: Decision


@dataclass(frozen=True)
class _Instance:
    volume_gib: int
    login: str
    decisions: tuple[Decision, ...]


_LOCAL = _Instance(0, "", ())


def _place(loaded: LoadedSpec, settings: Settings) -> tuple[Partition | None, str | None]:
    """Partition and region; a local stack is in no partition, and its region only matters for s3://."""
    if isinstance(loaded.spec, Ec2Stack):
        return partitions.for_region(loaded.spec.region), loaded.spec.region
    return None, settings.region


def _basics(
    loaded: LoadedSpec, settings: Settings, region: str | None, hardware: Hardware | None, known: KnownFile | None
) -> _Basics:
    """What everything else builds on. Independent mistakes are reported together."""
    findings, spec = Findings(), loaded.spec
    if isinstance(spec, Ec2Stack):
        hardware = hardware or place.hardware_of(spec)
    if hardware is None:
        raise ValueError("a local stack needs the hardware of this machine")
    model = findings.attempt(choose_model, loaded, region, settings.mirrors, known)
    built = findings.attempt(engine.choose_build, loaded, hardware)
    if isinstance(spec, Ec2Stack):
        for index, name in enumerate(spec.instance.fallbacks):
            findings.attempt(place.check_fallback, loaded, index, name, hardware)
    if model is not None and model.weights.facts is not None:
        findings.attempt(engine.check_context, loaded, model.weights.facts.context_limit, dialect())
    findings.raise_if_any()
    assert model is not None
    assert built is not None
    return _Basics(model, hardware, *built)


def _instance(loaded: LoadedSpec, spec: Ec2Stack, question: MemoryInputs, model: ModelChoice) -> _Instance:
    findings = Findings()
    for index, name in enumerate(spec.instance.fallbacks):
        findings.attempt(memory.check_fallback_fits, loaded, index, name, question)
    sized = findings.attempt(instance.choose_root_volume, loaded, spec, question.hardware, model.weights)
    findings.raise_if_any()
    assert sized is not None
    login, login_why = instance.choose_ssh_user(spec)
    images_why = instance.choose_image_chain(spec, question.hardware)
    return _Instance(sized[0], login, (images_why, login_why, sized[1]))


def _argv_inputs(
    chosen: EngineChoice,
    question: MemoryInputs,
    caches: HostCaches,
    attention: str,
    box: BoxPaths,
    model: ModelChoice,
    extra_args: list[str],
    *,
    tls: bool,
) -> ArgvInputs:
    return ArgvInputs(
        model_path=f"{box.weights_dir}/{model.weights.file}",
        alias=chosen.alias,
        host=chosen.host,
        port=chosen.port,
        api_key_file=box.api_key_file,
        context=chosen.context,
        parallel=chosen.parallel,
        threads=chosen.threads,
        gpu=question.hardware.gpu is not None,
        cache_type_k=question.cache_type_k,
        cache_type_v=question.cache_type_v,
        flash_attention=attention,
        prompt_cache_mib=caches.prompt_cache_mib,
        checkpoints=caches.checkpoints,
        mtp=chosen.mtp,
        tls=(box.tls_key_file, box.tls_certificate_file) if tls else None,
        extra_args=extra_args,
    )


def _mtp(loaded: LoadedSpec, hardware: Hardware, model: ModelChoice, language: Dialect) -> MtpVerdict:
    facts = model.weights.facts
    verdict = choose_mtp(loaded.spec.engine.mtp, hardware, model.weights.mtp_head, facts.name if facts else None)
    if verdict.refused:
        line, column = loaded.locate("engine", "mtp")
        raise RefusedError(
            f"engine.mtp is on, but {model.weights.file} has no MTP head; llama-server would end at start",
            where=f"{loaded.file}:{line}:{column}",
            hint=f"use {verdict.alternative}",
        )
    if verdict.choice.enabled:
        engine.check_mtp_arguments(loaded, language)
    return verdict


def _mtp_decisions(spec: EngineSpec, verdict: MtpVerdict) -> list[Decision]:
    choice: MtpChoice = verdict.choice
    value = f"on, n={choice.draft_n_max}, p_min={choice.draft_p_min:g}" if choice.enabled else "off"
    decisions = [Decision("mtp", value, verdict.reason, verdict.source, verdict.alternative)]
    if spec.tune == "on-first-boot":
        reason = "the machine measures MTP and thread counts before it is ready and keeps the fastest"
        decisions.append(Decision("tune", spec.tune, reason, "spec", "engine.tune: off"))
    if verdict.unverified:
        reason = "warning: nobody has said whether this GGUF has an MTP head; without one the engine ends at start"
        decisions.append(Decision("mtp_head", "unknown", reason, "rule: never guess", "model.mtp_head: true or false"))
    return decisions
