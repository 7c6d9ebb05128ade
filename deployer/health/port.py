"""Rung 3: something answers HTTP where clients will connect."""

from __future__ import annotations

from collections.abc import Callable

from deployer.access.errors import SshError
from deployer.errors import AwsError
from deployer.health.base import Observation
from deployer.health.client import EngineClient, Refused, TimedOut
from deployer.health.unreadable import unreadable


class PortAnswers:
    """open_endpoint: opens the way (a tunnel) when it is not open yet, and returns the base URL. It may raise SshError.

    Through a tunnel a TCP connection always succeeds, so this rung wants bytes: any HTTP status will do.
    """

    name = "port"
    #: The agent has already seen the engine ready: what may still be missing is sshd or a route.
    deadline_seconds = 120.0
    decides = True

    def __init__(self, open_endpoint: Callable[[], str], certificate: Callable[[], str | None] = lambda: None) -> None:
        self._open = open_endpoint
        self._url: str | None = None
        self._client = EngineClient(self.base_url, api_key="none", certificate=certificate)

    def base_url(self) -> str:
        """Where the endpoint is, opened if need be."""
        if self._url is None:
            self._url = self._open()
        return self._url

    def check(self) -> Observation:
        try:
            reply = self._client.health()
        except SshError as error:
            return Observation("waiting" if error.passing else "failed", error.message, error)
        except AwsError as error:
            return unreadable("the instance's address", error)
        match reply:
            case Refused(text) | TimedOut(text):
                return Observation("waiting", text)
            case _:
                return Observation("passed", f"{self._url} answers")
