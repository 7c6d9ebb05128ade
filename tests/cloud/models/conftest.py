"""A hub with synthetic weights, a bucket in an embedded AWS, and pushes between them: in this process or in another."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import pytest

from deployer.events import Event
from deployer.models.destination import destination
from deployer.models.places import resolve
from deployer.models.push import Order, push
from deployer.rehearsal.cloud import REGION, Cloud
from deployer.rehearsal.weights import Behaviour, WeightServer
from deployer.settings import Settings
from tests.support.clock import FakeClock


@dataclass
class Desk:
    """What a person has who pushes models. hub: as url with a file that no listing names; events: of the last push."""

    s3: Any
    hub: WeightServer
    home: Path
    environ: dict[str, str]
    bucket: str
    events: list[Event] = field(default_factory=list)

    part: ClassVar[int] = 5 << 20

    @property
    def to(self) -> str:
        return f"s3://{self.bucket}/qwen"

    @property
    def url(self) -> str:
        return f"{self.hub.url}/any/model-mtp.gguf"

    @property
    def key(self) -> str:
        return "qwen/model-mtp.gguf"

    @property
    def served(self) -> Path:
        return self.hub.file("any", "model-mtp.gguf").path

    @property
    def digest(self) -> str:
        return self.hub.file("any", "model-mtp.gguf").digest

    def push(
        self,
        model: str | None = None,
        *,
        to: str | None = None,
        on_event: Callable[[Event], None] | None = None,
        origin: str | None = None,
        **how: Any,
    ):
        settings = Settings.from_env(self.environ)
        place = resolve(model or self.url, settings.mirrors, origin=origin)
        self.events = []

        def emit(event: Event) -> None:
            self.events.append(event)
            if on_event is not None:
                on_event(event)

        order = Order(place, destination(to or self.to, place.file), **{"part_mib": 5, **how})
        return push(order, settings, REGION, FakeClock(), emit)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`deployer model push` of the hub's file in a process of its own."""
        return subprocess.Popen(
            [
                sys.executable,
                "-m",
                "deployer",
                "model",
                "push",
                self.url,
                "--to",
                self.to,
                "--part-mib",
                "5",
                *arguments,
            ],
            env={**os.environ, **self.environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def event(self, name: str) -> Event:
        return next(event for event in self.events if event.name == name)

    def uploads(self) -> list[str]:
        return [u["UploadId"] for u in self.s3.list_multipart_uploads(Bucket=self.bucket).get("Uploads", [])]

    def parts(self) -> list[int]:
        """Numbers of the parts that lie in the one unfinished upload."""
        found = [
            self.s3.list_parts(Bucket=self.bucket, Key=self.key, UploadId=upload).get("Parts", [])
            for upload in self.uploads()
        ]
        return [part["PartNumber"] for part in found[0]] if found else []

    def content(self, key: str | None = None) -> bytes:
        return self.s3.get_object(Bucket=self.bucket, Key=key or self.key)["Body"].read()

    def notes(self) -> list[Path]:
        return sorted((self.home / "pushes").glob("*"))

    def be(self, **behaviour: Any) -> None:
        self.hub.behaviour = Behaviour(**behaviour)


@pytest.fixture(scope="session")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("weights")


@pytest.fixture
def desk(
    cloud: Cloud, account: str, boto: Callable[..., Any], tmp_path: Path, weights: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Desk]:
    s3 = boto("s3")
    bucket = f"models-{account}"
    s3.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": REGION})
    # About 29 MB: five whole parts and a piece.
    hub = WeightServer(weights, padding_mib=22).start()
    home = tmp_path / "home"
    environ = {**cloud.env(), "DEPLOYER_HOME": str(home), "DEPLOYER_MIRROR_MODELSCOPE": hub.url}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    yield Desk(s3, hub, home, environ, bucket)
    hub.close()
