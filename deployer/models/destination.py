"""Where a model goes in S3, and how a spec then names it. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from deployer.errors import UsageError
from deployer.models.digests import MTP_HEAD, PUSH, REVISION, SHA256, SOURCE, TAG
from deployer.models.places import CatalogueEntry, Place

_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
#: What model.file of a spec takes.
_FILE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,200}\.gguf")
_FOLDER = re.compile(r"[A-Za-z0-9!_.*'()+=@-]+")


@dataclass(frozen=True)
class Destination:
    """prefix: folders of the key, without slashes at its ends; may be empty."""

    bucket: str
    prefix: str
    file: str

    @property
    def key(self) -> str:
        """The object's key."""
        return f"{self.prefix}/{self.file}" if self.prefix else self.file

    @property
    def source(self) -> str:
        """model.source of a spec."""
        return f"s3://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def url(self) -> str:
        """The object itself."""
        return f"s3://{self.bucket}/{self.key}"


def destination(to: str, file: str) -> Destination:
    """From `--to` and the source's file name. `--to` may end with a .gguf name of its own. Raises UsageError."""
    scheme, _, rest = to.partition("://")
    bucket, _, path = rest.partition("/")
    folders = [folder for folder in path.split("/") if folder]
    if scheme != "s3" or not _BUCKET.fullmatch(bucket):
        raise UsageError(f"{to!r} is not of the form s3://BUCKET/PREFIX", where="--to")
    if folders and folders[-1].endswith(".gguf"):
        file = folders.pop()
    odd = [folder for folder in folders if not _FOLDER.fullmatch(folder)]
    if odd:
        raise UsageError(f"the folder {odd[0]!r} has characters that do not travel well in S3 keys", where="--to")
    if not _FILE.fullmatch(file):
        raise UsageError(
            f"a spec cannot name a file called {file!r}",
            where="--to",
            hint=f"end --to with the name it shall have: {to.rstrip('/')}/NAME.gguf",
        )
    return Destination(bucket, "/".join(folders), file)


def metadata(place: Place, tag: str | None, sha256: str | None, *, mtp_head: bool, push: str) -> dict[str, str]:
    """The object's metadata; S3 takes ASCII only. sha256 None: not known before the whole file has been read."""
    values: dict[str, str | None] = {
        SHA256: sha256,
        SOURCE: place.shown,
        TAG: tag,
        REVISION: place.revision,
        MTP_HEAD: "yes" if mtp_head else "no",
        PUSH: push,
    }
    return {key: quote(value, safe=":/?=&%@+ \"'") for key, value in values.items() if value is not None}


def same_source(stored: Mapping[str, str], place: Place, tag: str | None) -> bool:
    """Whether an object with this metadata was made from the very same state of the source."""
    ours = metadata(place, tag, None, mtp_head=True, push="")
    return tag is not None and all(stored.get(key) == ours.get(key) for key in (SOURCE, TAG, REVISION))


def spec_block(where: Destination, sha256: str, *, mtp_head: bool, entry: CatalogueEntry | None) -> str:
    """The `model:` block of a spec for the pushed file, YAML."""
    rows = [("name", entry.name), ("quant", entry.quant)] if entry is not None else []
    rows += [("source", where.source), ("file", where.file), ("sha256", sha256)]
    rows += [("mtp_head", "true" if mtp_head else "false")]
    return "model:\n" + "".join(f"  {key}: {_scalar(value)}\n" for key, value in rows)


def _scalar(value: str) -> str:
    """A digest of digits alone would be a number."""
    return f'"{value}"' if re.fullmatch(r"[0-9.e]+", value) else value
