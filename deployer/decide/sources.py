"""Where the weights come from: the spec's or the catalogue's place as final URLs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote

from deployer.catalog import mirrors
from deployer.catalog import partition as partitions
from deployer.catalog.types import Partition
from deployer.decide.types import WeightSource
from deployer.spec.load import LoadedSpec

_REPO = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")


@dataclass(frozen=True)
class Origin:
    """place: the URL as a spec writes it. file, revision, sha256: as in the spec or the catalogue."""

    place: str
    file: str
    revision: str
    sha256: str | None


def repo_of(place: str) -> str | None:
    """`ORG/REPO` of a modelscope:// place, else None."""
    scheme, _, rest = place.partition("://")
    return rest.strip("/") if scheme == "modelscope" else None


def weight_sources(
    loaded: LoadedSpec, origin: Origin, region: str | None, overrides: Mapping[str, str]
) -> tuple[WeightSource, ...]:
    """Sources in the order to try them. Raises a located SpecError for a place that cannot be one.

    region: of the stack, or of the command line for a local one. overrides: settings.mirrors. A second hub, run by a
    third party, is used only when the digest is pinned.
    """
    scheme, _, rest = origin.place.partition("://")
    partition = partitions.for_region(region) if region is not None else None
    match scheme:
        case "modelscope":
            return _hub(loaded, rest.strip("/"), origin, partition, overrides)
        case "s3":
            return (_s3(loaded, rest, origin.file, partition, region),)
        case "file":
            return (WeightSource("file", "file://" + quote(rest.rstrip("/") + "/" + origin.file)),)
        case _:
            base = origin.place
            url = base if base.rpartition("/")[2] == origin.file else f"{base.rstrip('/')}/{quote(origin.file)}"
            return (WeightSource("https", url),)


def _hub(
    loaded: LoadedSpec, repo: str, origin: Origin, partition: Partition | None, overrides: Mapping[str, str]
) -> tuple[WeightSource, ...]:
    if not _REPO.fullmatch(repo):
        raise loaded.error(("model", "source"), f'"{origin.place}" is not of the form modelscope://ORG/REPO')
    where = partition.name if partition is not None else "aws-cn"
    base = mirrors.base_url("modelscope", overrides, where)
    revision, file = quote(origin.revision, safe=""), quote(origin.file)
    first = WeightSource(
        "modelscope",
        f"{base}/models/{repo}/resolve/{revision}/{file}",
        listing_url=f"{base}/api/v1/models/{repo}/repo/files?Revision={revision}&Recursive=true",
        listing_path=origin.file,
    )
    if origin.sha256 is None:
        return (first,)
    # The same file has the same digest on both hubs; only the name of the default branch differs.
    branch = "main" if origin.revision == "master" else revision
    hub = mirrors.base_url("hf", overrides, where)
    return (first, WeightSource("https", f"{hub}/{repo}/resolve/{branch}/{file}"))


def _s3(loaded: LoadedSpec, rest: str, file: str, partition: Partition | None, region: str | None) -> WeightSource:
    bucket, _, prefix = rest.partition("/")
    if not _BUCKET.fullmatch(bucket):
        raise loaded.error(("model", "source"), f'"{bucket}" is not a bucket name')
    if partition is None or region is None:
        raise loaded.error(("model", "source"), "s3:// needs a region, and none is set", "give --region cn-northwest-1")
    key = quote("/".join(part for part in (prefix.strip("/"), file) if part))
    host = partitions.endpoint(partition, "s3", region).removeprefix("https://")
    # A certificate for *.s3.REGION covers one label, so a bucket with dots is addressed by path.
    return WeightSource("s3", f"https://{host}/{bucket}/{key}" if "." in bucket else f"https://{bucket}.{host}/{key}")
