"""The `weights` phase: the GGUF complete, verified and under its final name, downloaded at most once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import urllib.parse
import urllib.request
from typing import Any, Mapping, NamedTuple

from . import imds
from .config import Config, Source
from .console import Phase
from .download import Download, SourceFailed, need_space
from .part import Part, read_json, remove, write_json
from .protocol import AgentFailure
from .sigv4 import UNSIGNED, sign
from .stop import Stop
from .web import NETWORK_ERRORS, call

_MAGIC = b"GGUF"
_COPY_CHUNK = 1 << 22
_LISTING_TRIES = 3


class Expected(NamedTuple):
    """What the file must be. by: who says so, `spec` or `listing`; None when nobody does."""

    sha256: str | None
    size: int | None
    by: str | None


def obtain(config: Config, phase: Phase, stop: Stop) -> None:
    """Leave the verified file in the weights directory. Raises AgentFailure or Stopped."""
    _Weights(config, phase, stop).obtain()


class _Weights:
    def __init__(self, config: Config, phase: Phase, stop: Stop) -> None:
        self._config = config
        self._want = config.weights
        self._phase = phase
        self._stop = stop
        self._final = os.path.join(self._want.dir, self._want.file)

    def obtain(self) -> None:
        os.makedirs(self._want.dir, exist_ok=True)
        if self._already_here():
            return
        problems, mismatch = [], False
        for source in self._in_order():
            try:
                self._from(source)
                return
            except SourceFailed as problem:
                mismatch = mismatch or problem.mismatch
                problems.append("%s: %s" % (_short(source.url), problem))
                self._phase.note("source failed: " + problems[-1])
        code = "weights_checksum" if mismatch else "weights_download"
        raise AgentFailure(self._phase.name, code, "; ".join(problems) or "no source is configured")

    def _already_here(self) -> bool:
        """Adopt what an earlier run finished: the record beside the file, else (pinned only) the file's own digest."""
        record = read_json(self._final + ".json")
        try:
            here = os.stat(self._final)
        except OSError:
            return False
        sha256 = record.get("sha256")
        if (record.get("size"), record.get("mtime_ns")) == (here.st_size, here.st_mtime_ns):
            same = sha256 == self._want.sha256
            if self._want.sha256 is None:
                same = record.get("url") in [source.url for source in self._want.sources]
            if same:
                self._done(here.st_size, str(sha256), record.get("by"), 0)
                return True
        elif self._want.sha256 is not None and self._digest(self._final) == self._want.sha256:
            self._record(self._final, here.st_size, self._want.sha256, "spec", "")
            self._done(here.st_size, self._want.sha256, "spec", 0)
            return True
        return False

    def _in_order(self) -> list[Source]:
        """As configured, but the source of a begun download first: its bytes are worth more than the order."""
        begun = read_json(self._final + ".part.json").get("url")
        return sorted(self._want.sources, key=lambda source: source.url != begun)

    def _from(self, source: Source) -> None:
        if source.kind == "file":
            self._from_file(source)
            return
        expected = self._expect(source)
        part = Part(self._final + ".part", source.url, self._stop)
        resumed_at = part.offset
        try:
            url = _s3_url(source.url) if source.kind == "s3" else source.url
            headers = self._s3_headers if source.kind == "s3" else _no_headers
            download = Download(url, part, expected.size, headers, self._phase, self._stop, self._config.retry_s)
            download.run()
            sha256 = part.digest.hexdigest()
            if expected.size not in (None, part.offset):
                part.discard()
                raise SourceFailed("it has %d bytes, %s are expected" % (part.offset, expected.size), mismatch=True)
            if expected.sha256 not in (None, sha256):
                part.discard()
                raise SourceFailed("sha256 is %s, %s is expected" % (sha256, expected.sha256), mismatch=True)
            if expected.sha256 is None and not part.begins_with(_MAGIC):
                part.discard()
                raise SourceFailed("what it serves is not a GGUF file")
            # The record first: were it missing, a finished file would be downloaded again.
            self._record(part.path, part.offset, sha256, expected.by, source.url)
            part.finish(self._final)
        finally:
            part.close()
        self._done(part.offset, sha256, expected.by, download.received, resumed_at)

    def _expect(self, source: Source) -> Expected:
        """The spec's pin, else what the hub's listing says, else nothing (and the console says so)."""
        want = self._want
        listed = self._listing(source)
        size = want.size_bytes or listed.get("Size") or None
        if want.sha256 is not None:
            if listed.get("Sha256") not in (None, "", want.sha256):
                raise SourceFailed(
                    "its listing has sha256 %s, the spec pins %s" % (listed["Sha256"], want.sha256), True
                )
            return Expected(want.sha256, size, "spec")
        if listed.get("Sha256"):
            return Expected(str(listed["Sha256"]), size, "listing")
        self._phase.note("the weights are not pinned: no sha256 in the spec and none from %s" % _short(source.url))
        return Expected(None, size, None)

    def _listing(self, source: Source) -> dict[str, Any]:
        """The hub's entry for the file; {} when the hub does not say."""
        if not source.listing_url:
            return {}
        reason = ""
        for number in range(_LISTING_TRIES):
            try:
                status, body = call(source.listing_url, 10)
                if status == 200:
                    for entry in json.loads(body)["Data"]["Files"]:
                        if source.listing_path in (entry.get("Path"), entry.get("Name")):
                            return dict(entry)
                reason = "no file %s in it" % source.listing_path if status == 200 else "HTTP %d" % status
                if status < 500:
                    break
            except (KeyError, TypeError, ValueError, *NETWORK_ERRORS) as error:
                reason = "%s: %s" % (type(error).__name__, error)
            self._stop.pause(self._config.retry_s * 2**number)
        self._phase.note("the listing of %s cannot be read (%s)" % (_short(source.listing_url), reason))
        return {}

    def _from_file(self, source: Source) -> None:
        path = self._config.root + urllib.request.url2pathname(urllib.parse.urlsplit(source.url).path)
        if not os.path.isfile(path):
            raise SourceFailed("there is no file %s" % path)
        sha256, size = self._digest(path), os.path.getsize(path)
        if self._want.sha256 not in (None, sha256):
            raise SourceFailed("sha256 is %s, %s is expected" % (sha256, self._want.sha256), mismatch=True)
        self._place(path)
        by = "spec" if self._want.sha256 else None
        self._record(self._final, size, sha256, by, source.url)
        self._done(size, sha256, by, 0)

    def _place(self, path: str) -> None:
        """The file under our name: a hard link, else a symbolic one (which no container could follow), else a copy."""
        if os.path.realpath(path) == os.path.realpath(self._final):
            return
        new = self._final + ".new"
        remove(new)
        try:
            os.link(os.path.realpath(path), new)
        except OSError:
            if self._config.runtime == "process":
                os.symlink(os.path.realpath(path), new)
            else:
                need_space(self._want.dir, os.path.getsize(path))
                shutil.copyfile(path, new)
        os.replace(new, self._final)

    def _digest(self, path: str) -> str:
        digest, done, total = hashlib.sha256(), 0, os.path.getsize(path)
        with open(path, "rb") as stream:
            while True:
                chunk = stream.read(_COPY_CHUNK)
                if not chunk:
                    return digest.hexdigest()
                digest.update(chunk)
                done += len(chunk)
                self._phase.progress("checking the sha256", done, total)
                self._stop.check()

    def _record(self, path: str, size: int, sha256: str, by: str | None, url: str) -> None:
        mtime_ns = os.stat(path).st_mtime_ns
        record = {"size": size, "mtime_ns": mtime_ns, "sha256": sha256, "by": by, "url": url}
        write_json(self._final + ".json", record)

    def _done(self, size: int, sha256: str, by: str | None, received: int, resumed_at: int = 0) -> None:
        detail = {"sha256": sha256, "pinned_by": by, "received": received, "resumed_at": resumed_at}
        self._phase.result(percent=100, bytes=size, total_bytes=size, detail=detail)

    def _s3_headers(self, url: str) -> Mapping[str, str]:
        """Signed with the instance's role; unsigned when there is none (a public or presigned object)."""
        if "X-Amz-Signature=" in url:
            return {}
        try:
            credentials = imds.role_credentials()
        except imds.MetadataError:
            return {}
        return sign(credentials, "GET", url, {}, UNSIGNED, "s3", self._config.region, time.time())


def _no_headers(_url: str) -> Mapping[str, str]:
    return {}


def _s3_url(url: str) -> str:
    """https://BUCKET.s3.REGION.SUFFIX/KEY, or the same object at the endpoint that the environment names."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    parts = urllib.parse.urlsplit(url)
    bucket, mark, _ = parts.netloc.partition(".s3.")
    if not endpoint or not mark:
        return url
    return "%s/%s%s" % (endpoint.rstrip("/"), bucket, parts.path)


def _short(url: str) -> str:
    """A URL without its query, which may carry a signature."""
    return url.split("?")[0]
