"""StackSpec + facts -> Deployment: the only place where choices are made. Pure: nothing is read but package data."""

from __future__ import annotations

from deployer.catalog import partition as partitions
from deployer.catalog.types import Hardware, Partition
from deployer.decide import engine, instance, memory, network, place
from deployer.decide.document import plan_document
from deployer.decide.findings import Findings
from deployer.decide.memory import refuse_if_unfit
from deployer.decide.model import KnownFile, ModelChoice, choose_model
from deployer.decide.types import BoxPaths, Decision, Deployment, EngineChoice, MtpChoice
from deployer.engine.argv import ArgvInputs, render_argv
from deployer.engine.dialect import Dialect, dialect
from deployer.engine.memory import MemoryInputs
from deployer.engine.mtp import MtpVerdict, choose_mtp
from deployer.errors import RefusedError
from deployer.settings import Settings
from deployer.spec.load import LoadedSpec
from deployer.spec.models import Ec2Stack

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

    hardware: of this machine for a local stack (then required); for EC2 a fallback type to decide for instead of the first.
    paths: where things lie on the machine. known_file: the GGUF's header and size, when somebody has read it.
    Raises SpecError with every located mistake, RefusedError when MTP is asked of a GGUF known to lack the head.
    """
    findings = Findings()
    spec, box = loaded.spec, paths or BoxPaths()
    partition, region = _place(loaded, settings, findings)
    model = findings.attempt(choose_model, loaded, partition, region, settings.mirrors, known_file)
    hardware = hardware or _hardware(loaded, findings)
    language = dialect()
    findings.attempt(engine.check_arguments, loaded, language, mtp=False)
    built = findings.attempt(engine.choose_build, loaded, hardware) if hardware is not None else None
    findings.raise_if_any()
    assert model is not None
    assert hardware is not None
    assert built is not None
    build, build_decision = built
    facts = model.weights.facts
    engine.check_context(loaded, facts.context_limit if facts else 0, language)

    verdict = _mtp(loaded, hardware, model, language)
    runtime, runtime_decision = engine.choose_runtime(loaded)
    image, image_decision = engine.choose_image(spec.engine, runtime, build, language)
    threads, threads_decision = engine.choose_threads(spec.engine, hardware)
    attention, attention_decision = engine.choose_flash_attention(spec.engine, hardware)
    host, host_decision = network.choose_host(spec.endpoint)
    question = memory.memory_inputs(spec.engine, model, hardware, attention, verdict.choice)
    fit, fit_decision = memory.choose_memory(question, model)
    caches, cache_decisions = memory.choose_host_caches(question)
    argv = render_argv(
        ArgvInputs(
            model_path=f"{box.weights_dir}/{model.weights.file}",
            alias=model.alias,
            host=host,
            port=spec.endpoint.port,
            api_key_file=box.api_key_file,
            context=spec.engine.context,
            parallel=spec.engine.parallel,
            threads=threads,
            gpu=hardware.gpu is not None,
            cache_type_k=spec.engine.cache_type_k,
            cache_type_v=spec.engine.cache_type_v,
            flash_attention=attention,
            prompt_cache_mib=caches.prompt_cache_mib,
            checkpoints=caches.checkpoints,
            mtp=verdict.choice,
            extra_args=spec.engine.extra_args,
        ),
        language,
    )
    decisions = [
        place.describe_hardware(hardware),
        build_decision,
        runtime_decision,
        image_decision,
        Decision(
            "dialect", language.build, "the flags of the llama.cpp build that the images hold", "catalog/dialects.json"
        ),
        *model.decisions,
        *engine.describe_shape(spec.engine),
        threads_decision,
        engine.describe_cache_types(spec.engine),
        attention_decision,
        *_mtp_decisions(verdict),
        fit_decision,
        *cache_decisions,
        host_decision,
    ]
    warning = network.port_warning(spec.endpoint, partition)
    if warning is not None:
        decisions.append(warning)
    volume, login = 0, ""
    if isinstance(spec, Ec2Stack):
        _fallbacks(loaded, spec, hardware, question, findings)
        sized = findings.attempt(instance.choose_root_volume, loaded, spec, hardware, model.weights)
        findings.raise_if_any()
        assert sized is not None
        volume, volume_decision = sized
        login, login_decision = instance.choose_ssh_user(spec)
        decisions += [instance.choose_image_chain(spec, hardware), login_decision, volume_decision]
    return Deployment(
        spec=spec,
        spec_digest=loaded.digest,
        hardware=hardware,
        partition=partition if isinstance(spec, Ec2Stack) else None,
        engine=EngineChoice(
            runtime=runtime,
            build=build,
            image=image,
            dialect=language.build,
            argv=argv,
            alias=model.alias,
            host=host,
            port=spec.endpoint.port,
            context=spec.engine.context,
            parallel=spec.engine.parallel,
            threads=threads,
            mtp=verdict.choice,
        ),
        weights=model.weights,
        memory=fit,
        paths=box,
        root_volume_gib=volume,
        decisions=tuple(decisions),
        ssh_user=login,
    )


def _place(loaded: LoadedSpec, settings: Settings, findings: Findings) -> tuple[Partition | None, str | None]:
    """Partition and region; for a local stack those of the command line, which only s3:// needs."""
    if isinstance(loaded.spec, Ec2Stack):
        return findings.attempt(place.choose_partition, loaded, loaded.spec), loaded.spec.region
    region = settings.region
    return (partitions.for_region(region) if region else None), region


def _hardware(loaded: LoadedSpec, findings: Findings) -> Hardware | None:
    if not isinstance(loaded.spec, Ec2Stack):
        raise ValueError("a local stack needs the hardware of this machine")
    return findings.attempt(place.choose_hardware, loaded, loaded.spec)


def _fallbacks(
    loaded: LoadedSpec, spec: Ec2Stack, hardware: Hardware, question: MemoryInputs, findings: Findings
) -> None:
    for index, name in enumerate(spec.instance.fallbacks):
        other = findings.attempt(place.check_fallback, loaded, index, name, hardware)
        error = memory.check_fallback_fits(loaded, index, other, question) if other is not None else None
        if error is not None:
            findings.add(error)


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
    engine.check_arguments(loaded, language, mtp=verdict.choice.enabled)
    return verdict


def _mtp_decisions(verdict: MtpVerdict) -> list[Decision]:
    choice: MtpChoice = verdict.choice
    value = f"on, n={choice.draft_n_max}, p_min={choice.draft_p_min:g}" if choice.enabled else "off"
    decisions = [Decision("mtp", value, verdict.reason, verdict.source, verdict.alternative)]
    if verdict.unverified:
        reason = "warning: nobody has said whether this GGUF has an MTP head; without one the engine ends at start"
        decisions.append(Decision("mtp_head", "unknown", reason, "rule: never guess", "model.mtp_head: true or false"))
    return decisions
