"""Rung 5: the model is there under its alias, with the context that was asked for."""

from __future__ import annotations

from deployer.events import Json
from deployer.health.another_key import another_key
from deployer.health.base import Observation
from deployer.health.client import Answered, EngineClient, Loading, Odd, Refused, TimedOut, Unauthorized


class ModelListed:
    """alias: the name clients send. context: tokens of one slot, compared with /props; None compares nothing.

    A llama-server without a model (router mode) answers 200 on /health and lists nothing: that fails here.
    """

    name = "models"
    deadline_seconds = 60.0
    decides = True

    def __init__(self, client: EngineClient, alias: str, context: int | None = None) -> None:
        self._client = client
        self._alias = alias
        self._context = context

    def check(self) -> Observation:
        match self._client.models():
            case Answered(body):
                return self._judge(_listed(body.get("data")))
            case Unauthorized(text):
                return another_key(text)
            case Loading(text) | Refused(text) | TimedOut(text) | Odd(_, text):
                return Observation("waiting", text)

    def _judge(self, listed: list[str]) -> Observation:
        if not listed:
            return Observation("failed", "/v1/models is empty: llama-server runs without a model (router mode)")
        if self._alias not in listed:
            return Observation("failed", f"/v1/models has {', '.join(listed)}, not {self._alias}")
        return self._compare_context()

    def _compare_context(self) -> Observation:
        found = f"/v1/models has {self._alias}"
        if self._context is None:
            return Observation("passed", found)
        match self._client.props():
            case Answered(body):
                n_ctx = _slot_context(body)
            case _:
                n_ctx = None
        if n_ctx is None:
            return Observation("warned", f"{found}, but /props does not tell the context")
        if n_ctx < self._context:
            return Observation("warned", f"{found}, but a slot has {n_ctx} tokens instead of {self._context}")
        return Observation("passed", f"{found}, {n_ctx} tokens for each slot")


def _listed(data: Json) -> list[str]:
    entries = data if isinstance(data, list) else []
    return [str(entry["id"]) for entry in entries if isinstance(entry, dict) and "id" in entry]


def _slot_context(props: object) -> int | None:
    settings = props.get("default_generation_settings") if isinstance(props, dict) else None
    n_ctx = settings.get("n_ctx") if isinstance(settings, dict) else None
    return n_ctx if isinstance(n_ctx, int) else None
