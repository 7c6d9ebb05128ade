"""Tags as EC2's query protocol carries them."""

from __future__ import annotations

from collections.abc import Mapping


def tag_specifications(form: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """Tags by resource type, from `TagSpecification.N.ResourceType` and `TagSpecification.N.Tag.M.Key/Value`."""
    found: dict[str, dict[str, str]] = {}
    for key, kind in form.items():
        if not (key.startswith("TagSpecification.") and key.endswith(".ResourceType")):
            continue
        prefix = key.removesuffix("ResourceType") + "Tag."
        tags = found.setdefault(kind, {})
        for name, value in form.items():
            if name.startswith(prefix) and name.endswith(".Key"):
                tags[value] = form.get(name.removesuffix("Key") + "Value", "")
    return found
