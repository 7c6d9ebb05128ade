"""Which container image the engine runs from, asked of AWS before anything is paid for: own ECR, AWS's, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from deployer.aws import ecr
from deployer.aws.ecr import Probe
from deployer.aws.session import Aws
from deployer.catalog import registry
from deployer.catalog.registry import EcrImage
from deployer.catalog.source import cite
from deployer.decide.engine import image_tag
from deployer.decide.types import Decision, Deployment
from deployer.errors import RefusedError
from deployer.events import Emit, Event
from deployer.reconcile.desired import ec2_parts

#: The Decision that names the image, and those of the places that were asked for it.
IMAGE = "image"
OWN, FROM_AWS, MIRRORED = "image in own ECR", "image of AWS", "copy of AWS's image in own ECR"


def needs_image(deployment: Deployment) -> bool:
    """Whether the image is still to be found."""
    return deployment.engine.runtime == "docker" and deployment.engine.image is None


def with_image(aws: Aws, deployment: Deployment) -> Deployment:
    """The deployment with its image, by digest, and a Decision for each place that was asked.

    A deployment that has its image, or needs none, comes back as it is. Raises RefusedError when no place has one.
    """
    if not needs_image(deployment):
        return deployment
    engine, (spec, partition) = deployment.engine, ec2_parts(deployment)
    tag = image_tag(engine.build, engine.dialect)
    own = ecr.probe(aws, registry.own_image(partition, spec.region, aws.account, tag))
    asked = [_told(OWN, own, "ecr:BatchGetImage")]
    if own.found is not None:
        reason = f"the account's own image of the {engine.build.name} build, by its digest"
        return _decided(deployment, own, Decision(IMAGE, str(own.found), reason, "own ECR", "engine.image"), asked)
    for name, offer, whose in _general_purpose(aws, deployment):
        theirs = ecr.probe(aws, offer)
        asked.append(_told(name, theirs, cite("images")))
        if theirs.found is not None:
            built = " or ".join(registry.aws_image_builds())
            reason = (
                f"{whose}, by its digest; its llama.cpp is {built} or newer and general-purpose, "
                f"the arguments are written for {engine.dialect}"
            )
            why = Decision(IMAGE, str(theirs.found), reason, cite("images"), "deployer image build, then push")
            return _decided(deployment, theirs, why, asked)
    raise _nowhere(deployment, asked)


def _general_purpose(aws: Aws, deployment: Deployment) -> Iterator[tuple[str, EcrImage, str]]:
    """(Decision's name, image, whose it is) of AWS's container: where AWS has it in the region, and our copy of it."""
    spec, partition = ec2_parts(deployment)
    architecture, gpu = deployment.hardware.architecture, _gpu(deployment)
    if offer := registry.aws_image(partition, spec.region, architecture, gpu=gpu):
        yield FROM_AWS, offer, "AWS's llama.cpp container"
    if copy := registry.mirrored_image(partition, spec.region, aws.account, architecture, gpu=gpu):
        yield MIRRORED, copy, "the account's copy of AWS's llama.cpp container"


def tell(before: Deployment, after: Deployment, emit: Emit) -> None:
    """Say what `with_image` decided, and warn of an image that can change under its name."""
    for decision in after.decisions:
        if decision not in before.decisions:
            emit(Event("decision", {key: vars(decision)[key] for key in ("name", "value", "reason", "source")}))
    image = after.engine.image
    if after.engine.runtime == "docker" and image is not None and not registry.is_pinned(image):
        message = f"engine.image {image} names no digest: whoever can push there decides what runs"
        emit(Event("warning", {"message": message, "hint": "write it as NAME@sha256:DIGEST"}))


def _gpu(deployment: Deployment) -> bool:
    return deployment.engine.build.name == "cuda"


def _told(name: str, probe: Probe, source: str) -> Decision:
    return Decision(name, str(probe.found or probe.asked), probe.outcome, source)


def _decided(deployment: Deployment, probe: Probe, why: Decision, asked: list[Decision]) -> Deployment:
    decisions: list[Decision] = []
    for decision in deployment.decisions:
        decisions += [*asked, why] if decision.name == IMAGE else [decision]
    engine = replace(deployment.engine, image=str(probe.found))
    return replace(deployment, engine=engine, decisions=tuple(decisions))


def _nowhere(deployment: Deployment, asked: list[Decision]) -> RefusedError:
    looked = "\n".join(f"  {one.value}: {one.reason}" for one in asked)
    build, kind = deployment.engine.build.name, deployment.hardware.name
    return RefusedError(
        f"there is no container image of the {build} build for {kind}; nothing was started. Asked:\n{looked}",
        where="engine.image",
        hint="`deployer image build SPEC`, then `deployer image push SPEC`, puts one into your ECR; so does `deployer "
        "image build SPEC --on-instance`, on an instance of the region; `deployer mirror images SPEC` copies AWS's "
        "there, from a machine outside; or name an image in engine.image",
    )
