"""What a person types, as a place; where it goes, as a spec names it."""

from __future__ import annotations

import pytest

from deployer.errors import UsageError
from deployer.models.destination import Destination, destination, metadata, same_source, spec_block
from deployer.models.digests import expected, of_object
from deployer.models.places import resolve
from deployer.models.source import SourceError
from deployer.spec.load import parse_spec

_MIRRORS = {"modelscope": "http://ms", "hf": "http://hf"}
_DIGEST = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("text", "address", "shown", "file"),
    [
        ("modelscope://o/r/f.gguf", "http://ms/models/o/r/resolve/master/f.gguf", "modelscope://o/r/f.gguf", "f.gguf"),
        (
            "modelscope://o/r/d/f.gguf",
            "http://ms/models/o/r/resolve/master/d/f.gguf",
            "modelscope://o/r/d/f.gguf",
            "f.gguf",
        ),
        ("hf://o/r/f.gguf", "http://hf/o/r/resolve/main/f.gguf", "hf://o/r/f.gguf", "f.gguf"),
        ("s3://bucket/a/f.gguf", "bucket/a/f.gguf", "s3://bucket/a/f.gguf", "f.gguf"),
        ("https://h/a%20b.gguf?sig=x", "https://h/a%20b.gguf?sig=x", "https://h/a%20b.gguf", "a b.gguf"),
        ("file:///d/f.gguf", "/d/f.gguf", "file:///d/f.gguf", "f.gguf"),
        ("d/f.gguf", "d/f.gguf", "d/f.gguf", "f.gguf"),
    ],
)
def test_places(text: str, address: str, shown: str, file: str) -> None:
    place = resolve(text, _MIRRORS)
    assert (place.address, place.shown, place.file) == (address, shown, file)


def test_a_catalogue_name_is_its_hub_file() -> None:
    place = resolve("Qwen3.6-27B", _MIRRORS, quant="Q8_0", revision="v1")
    assert place.shown == "modelscope://unsloth/Qwen3.6-27B-MTP-GGUF/Qwen3.6-27B-Q8_0.gguf"
    assert "/resolve/v1/" in place.address
    assert place.entry is not None
    assert (place.entry.quant, place.entry.mtp_head) == ("Q8_0", True)


def test_a_catalogue_name_from_elsewhere_keeps_only_its_name() -> None:
    place = resolve("Qwen3.6-27B", _MIRRORS, origin="https://h/models/")
    assert place.address == "https://h/models/Qwen3.6-27B-Q4_K_M.gguf"
    assert place.entry is not None
    assert place.entry.sha256 is None


def test_a_hub_file_that_the_catalogue_knows_is_recognised() -> None:
    place = resolve("Qwen3.6-27B-Q4_K_M.gguf", _MIRRORS, origin="modelscope://unsloth/Qwen3.6-27B-MTP-GGUF")
    assert place.entry is not None
    assert place.entry.name == "Qwen3.6-27B"


@pytest.mark.parametrize(
    ("text", "more", "words"),
    [
        ("modelscope://o/r", {}, "ORG/REPO/FILE"),
        ("s3://bucket", {}, "BUCKET/KEY"),
        ("s3://B_/x", {}, "BUCKET/KEY"),
        ("ftp://h/f", {}, "ftp:// is not a place"),
        ("https:///f", {}, "names no host"),
        ("f.gguf", {"quant": "Q8_0"}, "--quant chooses a file of a catalogue model"),
        ("Qwen3.6-27B", {"quant": "Q9"}, "no quantisation"),
        ("f.gguf", {"revision": "v1"}, "model hub"),
    ],
)
def test_what_is_no_place(text: str, more: dict[str, str], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        resolve(text, _MIRRORS, **more)


@pytest.mark.parametrize(
    ("to", "found"),
    [
        ("s3://bkt", Destination("bkt", "", "f.gguf")),
        ("s3://bkt/a/b/", Destination("bkt", "a/b", "f.gguf")),
        ("s3://bkt/a/other.gguf", Destination("bkt", "a", "other.gguf")),
    ],
)
def test_destinations(to: str, found: Destination) -> None:
    assert destination(to, "f.gguf") == found


@pytest.mark.parametrize("to", ["bkt/a", "https://bkt/a", "s3://", "s3://A", "s3://bkt/a b", "s3://bkt/ä"])
def test_what_is_no_destination(to: str) -> None:
    with pytest.raises(UsageError):
        destination(to, "f.gguf")


def test_a_name_that_no_spec_takes_wants_another() -> None:
    with pytest.raises(UsageError, match="cannot name") as refused:
        destination("s3://bkt/a", "a b.gguf")
    assert "s3://bkt/a/NAME.gguf" in str(refused.value.hint)


@pytest.mark.parametrize("catalogue", [True, False])
@pytest.mark.parametrize("digest", [_DIGEST, "1" * 64, "1e" + "2" * 62])
def test_the_printed_block_is_a_spec(digest: str, catalogue: bool) -> None:
    entry = resolve("Qwen3.6-27B", {}).entry if catalogue else None
    block = spec_block(destination("s3://bkt/a", "f.gguf"), digest, mtp_head=True, entry=entry)
    text = f"name: demo\ntarget: ec2\nregion: cn-northwest-1\ninstance: {{type: g5.xlarge}}\n{block}"
    spec = parse_spec(text, "x.yaml", environ={}, overrides=None).spec.model
    assert (spec.source, spec.file, spec.sha256, spec.mtp_head) == ("s3://bkt/a", "f.gguf", digest, True)
    assert spec.name == ("Qwen3.6-27B" if catalogue else None)


def test_metadata_is_ascii_and_knows_its_source_again() -> None:
    place = resolve("https://h/ü.gguf", {})
    described = metadata(place, '"tag"', None, mtp_head=False, push="p")
    assert all(value.isascii() for value in described.values())
    assert same_source(described, place, '"tag"')
    assert not same_source(described, place, '"other"')
    assert not same_source({}, place, None)


def test_who_says_the_digest() -> None:
    assert expected({"a": None}, "f") is None
    claim = expected({"a": _DIGEST, "b": None, "c": _DIGEST}, "f")
    assert claim is not None
    assert claim.says == "a and c"
    with pytest.raises(SourceError, match=r"a says .*, b says"):
        expected({"a": _DIGEST, "b": "0" * 64}, "f")


def test_the_tag_counts_more_than_the_metadata() -> None:
    assert of_object({"sha256": _DIGEST}, {}) == _DIGEST
    assert of_object({"sha256": _DIGEST}, {"deployer:sha256": "0" * 64}) == "0" * 64
    assert of_object({"sha256": "nonsense"}, {}) is None
