"""Where a model lies: what a person types (a catalogue name, a URL, a file) as one Place. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import quote, unquote, urlsplit

from deployer.catalog import mirrors
from deployer.catalog import models as catalogue
from deployer.catalog.closest import did_you_mean
from deployer.errors import UsageError

Kind = Literal["http", "s3", "file"]

FORMS = "a file, modelscope://ORG/REPO/FILE, hf://ORG/REPO/FILE, https://HOST/PATH or s3://BUCKET/KEY"
#: ModelScope's default branch; Hugging Face calls the same `main`.
DEFAULT_REVISION = "master"
_HUB = re.compile(r"(?P<repo>[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*)/(?P<file>.*[^/])")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class CatalogueEntry:
    """What the catalogue says of the file. mtp_head None: it does not know."""

    name: str
    quant: str
    mtp_head: bool | None
    sha256: str | None


@dataclass(frozen=True)
class Place:
    """address: the URL to fetch, `BUCKET/KEY` for s3, the path for file. shown: how people and metadata name it.

    file: the name without folders. listing_url, listing_path: a hub's listing and the entry in it.
    """

    kind: Kind
    address: str
    shown: str
    file: str
    revision: str | None = None
    listing_url: str | None = None
    listing_path: str | None = None
    entry: CatalogueEntry | None = None

    @property
    def bucket_and_key(self) -> tuple[str, str]:
        """Of an s3 place."""
        bucket, _, key = self.address.partition("/")
        return bucket, key


def resolve(
    text: str,
    settings_mirrors: Mapping[str, str],
    *,
    partition: str = "aws-cn",
    quant: str | None = None,
    origin: str | None = None,
    revision: str | None = None,
) -> Place:
    """The place of MODEL. Raises UsageError.

    text: a catalogue name, or FORMS; with `origin` (where the file lies, as model.source in a spec) also a file's name.
    quant: only for a catalogue name. revision: only for a hub.
    """
    facts = catalogue.lookup(text)
    if quant is not None and facts is None:
        raise UsageError(f"--quant chooses a file of a catalogue model, and {text!r} is none", hint=_names_hint(text))
    if facts is None:
        place = _located(f"{origin.rstrip('/')}/{text}" if origin else text, settings_mirrors, partition, revision)
        return place if origin is None else _with_entry(place)
    wanted = quant or facts.default_quant
    file = catalogue.file_for(facts, wanted)
    if file is None:
        known = catalogue.quants(facts)
        message = f"{facts.name} has no quantisation {wanted!r}{did_you_mean(wanted, known)}"
        raise UsageError(message, where="--quant", hint=f"it has {', '.join(known)}")
    if origin is None:
        place = _located(f"modelscope://{file.repo}/{file.file}", settings_mirrors, partition, revision)
        return replace(place, entry=CatalogueEntry(facts.name, wanted, file.mtp_head, file.sha256))
    whole = origin if origin.endswith(".gguf") else f"{origin.rstrip('/')}/{file.file}"
    place = _located(whole, settings_mirrors, partition, revision)
    # A copy elsewhere may be another file of the same name: nothing but its name is taken from the catalogue.
    return replace(place, entry=CatalogueEntry(facts.name, wanted, file.mtp_head, None))


def _located(text: str, overrides: Mapping[str, str], partition: str, revision: str | None) -> Place:
    scheme, separator, rest = text.partition("://")
    if not separator:
        return _refuse_revision(_file(text), revision)
    match scheme:
        case "modelscope":
            return _with_entry(_modelscope(text, rest, overrides, partition, revision or DEFAULT_REVISION))
        case "hf":
            return _with_entry(_hf(text, rest, overrides, partition, revision or "main"))
        case "s3":
            return _refuse_revision(_s3(text, rest), revision)
        case "http" | "https":
            return _refuse_revision(_http(text), revision)
        case "file":
            return _refuse_revision(_file(unquote(rest)), revision)
        case _:
            raise UsageError(f"{scheme}:// is not a place we can read from", where=text, hint=FORMS)


def _modelscope(text: str, rest: str, overrides: Mapping[str, str], partition: str, revision: str) -> Place:
    repo, file = _repo_and_file(text, rest)
    base = mirrors.base_url("modelscope", overrides, partition)
    branch = quote(revision, safe="")
    return Place(
        "http",
        f"{base}/models/{repo}/resolve/{branch}/{quote(file)}",
        f"modelscope://{repo}/{file}",
        file.rpartition("/")[2],
        revision,
        f"{base}/api/v1/models/{repo}/repo/files?Revision={branch}&Recursive=true",
        file,
    )


def _hf(text: str, rest: str, overrides: Mapping[str, str], partition: str, revision: str) -> Place:
    repo, file = _repo_and_file(text, rest)
    base = mirrors.base_url("hf", overrides, partition)
    address = f"{base}/{repo}/resolve/{quote(revision, safe='')}/{quote(file)}"
    return Place("http", address, f"hf://{repo}/{file}", file.rpartition("/")[2], revision)


def _s3(text: str, rest: str) -> Place:
    bucket, _, key = rest.partition("/")
    if not _BUCKET.fullmatch(bucket) or not key or key.endswith("/"):
        raise UsageError(f"{text!r} is not of the form s3://BUCKET/KEY")
    return Place("s3", f"{bucket}/{key}", text, key.rpartition("/")[2])


def _http(text: str) -> Place:
    parts = urlsplit(text)
    if not parts.hostname:
        raise UsageError(f"{text!r} names no host", hint=FORMS)
    # A password or a signature in the URL opens the file for us; it is never shown or stored.
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    return Place("http", text, shown, unquote(parts.path).rpartition("/")[2] or parts.hostname)


def _file(path: str) -> Place:
    return Place("file", path, f"file://{path}" if path.startswith("/") else path, path.rpartition("/")[2])


def _repo_and_file(text: str, rest: str) -> tuple[str, str]:
    found = _HUB.fullmatch(rest)
    if found is None:
        scheme = text.partition(":")[0]
        raise UsageError(f"{text!r} is not of the form {scheme}://ORG/REPO/FILE", hint="name the .gguf file as well")
    return found["repo"], found["file"]


def _with_entry(place: Place) -> Place:
    repo = place.shown.partition("://")[2].removesuffix(f"/{place.file}")
    known = catalogue.file_in(repo, place.file)
    if known is None:
        return place
    facts, file = known
    return replace(place, entry=CatalogueEntry(facts.name, file.quant, file.mtp_head, file.sha256))


def _refuse_revision(place: Place, revision: str | None) -> Place:
    if revision is not None:
        raise UsageError("--revision is for a model hub (modelscope://, hf://)", where=place.shown)
    return place


def _names_hint(text: str) -> str:
    names = [facts.name for facts in catalogue.all_models()]
    return f"the catalogue has {', '.join(names)}{did_you_mean(text, names)}"
