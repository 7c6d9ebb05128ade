"""Names of container images, as `mirror images --from` takes them."""

from __future__ import annotations

import pytest

from deployer.errors import UsageError
from deployer.images.reference import Reference, parse

DIGEST = "sha256:" + "a" * 64


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("ghcr.example/org/llama.cpp:server", Reference("ghcr.example", "org/llama.cpp", "server", None)),
        ("127.0.0.1:5000/a", Reference("127.0.0.1:5000", "a", "latest", None)),
        (f"localhost/a/b@{DIGEST}", Reference("localhost", "a/b", None, DIGEST)),
        (f"r.example/a:v1@{DIGEST}", Reference("r.example", "a", "v1", DIGEST)),
    ],
)
def test_parts(text: str, meant: Reference) -> None:
    assert parse(text) == meant
    assert parse(str(meant)) == meant


@pytest.mark.parametrize(
    "text", ["debian", "library/debian:12", "r.example/Upper", "r.example/a@sha256:1", "https://r.example/a"]
)
def test_what_is_no_image_with_its_registry(text: str) -> None:
    with pytest.raises(UsageError, match="does not name an image"):
        parse(text)
