"""The engine images in the account's ECR, with what their tags say of them."""

from __future__ import annotations

from deployer.aws import ecr
from deployer.aws.session import Aws
from deployer.catalog import registry
from deployer.events import Json
from deployer.images.recipe import known_recipes


def listing(aws: Aws) -> dict[str, Json]:
    """The document of `image ls`, newest first. build, flags and families are null for a tag of another version.

    The tag commits to the flags, so they are told without fetching the image.
    """
    name = registry.own_repository()
    found = ecr.stored(aws, name)
    rows: list[Json] = []
    for one in sorted(found or (), key=lambda one: -one.pushed_at):
        recipe, families = next((known_recipes()[tag] for tag in one.tags if tag in known_recipes()), (None, ()))
        rows.append(
            {
                "tags": [*one.tags],
                "digest": one.digest,
                "size_bytes": one.size_bytes,
                "pushed_at": one.pushed_at,
                "build": recipe.build.name if recipe else None,
                "flags": [*recipe.flags] if recipe else None,
                "families": [*families] if recipe else None,
            }
        )
    image = registry.own_image(aws.partition, aws.region, aws.account, "")
    return {"repository": f"{image.registry}/{name}", "exists": found is not None, "images": rows}
