"""The stack that a builder instance is."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployer.decide.decide import refuse_if_unfit
from deployer.images.build import Bases
from deployer.images.on_instance import Order, builder_stack
from deployer.images.recipe import recipe_for
from deployer.settings import Settings
from deployer.spec.models import Ec2Stack


@pytest.mark.parametrize(
    ("built_for", "builder"),
    [("c7g.large", "c8g.4xlarge"), ("c8i.xlarge", "c8i.4xlarge"), ("g5.xlarge", "c8i.4xlarge")],
)
def test_it_has_the_architecture_ends_by_itself_and_needs_no_image(built_for: str, builder: str) -> None:
    settings = Settings.from_env({})
    order = Order(recipe_for(built_for, settings), Path("source.tar.gz"), Bases("r.example/debian:12"), None)
    deployment = builder_stack(order, "cn-northwest-1", settings)
    refuse_if_unfit(deployment)
    assert isinstance(deployment.spec, Ec2Stack)
    assert deployment.spec.name == f"builder-{order.recipe.tag}"
    assert deployment.spec.instance.type == builder
    assert deployment.spec.lifetime.ttl is not None
    assert deployment.engine.runtime == "process" and deployment.root_volume_gib == 80
