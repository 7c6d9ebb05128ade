"""Questions about the spec's models that messages need: which keys, words and bounds are allowed where."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from deployer.spec.forms import Form
from deployer.spec.positions import Path

Model = type[BaseModel]


@dataclass(frozen=True)
class Leaf:
    """One thing a value may be: a type (`int`, `list[...]`, a model, a Literal, None's type) and its metadata."""

    type: Any
    metadata: tuple[Any, ...]

    @property
    def origin(self) -> Any:
        """`list` for list[int], Literal for a literal, the type itself for a plain one."""
        return get_origin(self.type) or self.type

    @property
    def words(self) -> tuple[str, ...]:
        """The words of a Literal."""
        return tuple(str(word) for word in get_args(self.type)) if self.origin is Literal else ()

    @property
    def model(self) -> Model | None:
        """The model class, when it is one."""
        return self.type if isinstance(self.type, type) and issubclass(self.type, BaseModel) else None

    @property
    def form(self) -> Form | None:
        """The words for its shape."""
        return next((item for item in self.metadata if isinstance(item, Form)), None)

    @property
    def pattern(self) -> str | None:
        """The pattern text must have."""
        return next((item.pattern for item in self.metadata if getattr(item, "pattern", None)), None)

    def bound(self, *names: str) -> int | float | None:
        """The first of the named limits (`ge`, `gt`, `le`, `lt`, `min_length`, `max_length`) among the metadata."""
        for item in self.metadata:
            for name in names:
                limit = getattr(item, name, None)
                if isinstance(limit, int | float):
                    return limit
        return None


def leaves(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[Leaf]:
    """The alternatives of an annotation, unions and Annotated taken apart."""
    origin = get_origin(annotation)
    if origin is Annotated:
        inner, *extra = get_args(annotation)
        yield from leaves(inner, metadata + tuple(_flat(extra)))
    elif origin is Union or origin is UnionType:
        for alternative in get_args(annotation):
            yield from leaves(alternative, metadata)
    else:
        yield Leaf(annotation, metadata)


def _flat(metadata: list[Any]) -> Iterator[Any]:
    for item in metadata:
        if isinstance(item, FieldInfo):
            yield from item.metadata
        else:
            yield item


def field_leaves(field: FieldInfo) -> list[Leaf]:
    """The alternatives of a model's field."""
    return list(leaves(field.annotation, tuple(field.metadata)))


def model_for(alternatives: list[Leaf], data: object) -> Model | None:
    """The model among the alternatives that `data` chooses by its discriminator; the first one when it chooses none."""
    models = [leaf.model for leaf in alternatives if leaf.model]
    chosen = data.get("expose") if isinstance(data, Mapping) else None
    for model in models:
        field = model.model_fields.get("expose")
        if field and chosen in get_args(field.annotation):
            return model
    return models[0] if models else None


def alternatives_at(model: Model, path: Path, data: object) -> list[Leaf]:
    """What the value at `path` may be; empty when the path is not part of the model. `data` picks among unions."""
    current = [Leaf(model, ())]
    for step in path:
        current = list(_below(current, step, data))
        match data:
            case dict():
                data = data.get(step)
            case list() if isinstance(step, int) and step < len(data):
                data = data[step]
            case _:
                data = None
    return current


def _below(alternatives: list[Leaf], step: str | int, data: object) -> Iterator[Leaf]:
    model = model_for(alternatives, data)
    if model and isinstance(step, str):
        field = model.model_fields.get(step)
        if field:
            yield from field_leaves(field)
        return
    for leaf in alternatives:
        arguments = get_args(leaf.type)
        if leaf.origin is list and isinstance(step, int):
            yield from leaves(arguments[0])
        elif leaf.origin is dict and isinstance(step, str):
            yield from leaves(arguments[1])


def key_alternatives(model: Model, path: Path, data: object) -> list[Leaf]:
    """What the keys of the free mapping at `path` may be; empty when it is no free mapping."""
    found = alternatives_at(model, path, data)
    return [key for leaf in found if leaf.origin is dict for key in leaves(get_args(leaf.type)[0])]


def find_key(model: Model, key: str, path: Path = ()) -> Path | None:
    """The path of a key of that name anywhere below `model`."""
    if key in model.model_fields:
        return (*path, key)
    for name, field in model.model_fields.items():
        for leaf in field_leaves(field):
            found = find_key(leaf.model, key, (*path, name)) if leaf.model else None
            if found:
                return found
    return None
