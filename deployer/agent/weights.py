"""The `weights` phase: the GGUF complete, verified and under its final name, downloaded at most once."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import time
import urllib.parse
import urllib.request
from typing import Any

from .config import Config, Source
from .console import Phase
from .download import REACH_TRIES, Download, SourceFailed, need_space
from .imds import MetadataError, role_credentials
from .part import Part, read_json, remove, write_json
from .sigv4 import UNSIGNED, Credentials, sign
from .stop import Stop
from .web import NETWORK_ERRORS, call

_MAGIC = b"GGUF"
_CHUNK = 1 << 22
_LISTING_TRIES = 3
#: The role's credentials are asked for anew after so long; they are valid for hours.
_ROLE_SECONDS = 60.0


def obtain(config: Config, phase: Phase, stop: Stop) -> None:
    """Leave the verified file in the weights directory. Raises AgentFailure or Stopped."""
    _Weights(config, phase, stop).obtain()


class _Weights:
    def __init__(self, config: Config, phase: Phase, stop: Stop) -> None:
        self._config = config
        self._phase = phase
        self._stop = stop
        self._final = config.weights_file
        self._role: Credentials | None = None
        self._role_at = -_ROLE_SECONDS

    def obtain(self) -> None:
        os.makedirs(self._config.weights_dir, exist_ok=True)
        if self._already_here():
            return
        began = time.monotonic()
        pause = self._config.retry_s
        while True:
            problems, mismatch, unreachable = self._round()
            if not problems and self._config.sources:
                return
            waited = time.monotonic() - began
            if not unreachable or waited + pause > self._config.network_s:
                code = "weights_checksum" if mismatch else "weights_download"
                raise self._phase.failure(code, "; ".join(problems))
            # An address that is not known in the first minute after boot may be a network that is not up yet.
            self._phase.note("waiting for the network or the role (%d of %d s)" % (waited, self._config.network_s))
            self._stop.pause(pause)
            pause = min(5.0, pause * 2)

    def _round(self) -> tuple[list[str], bool, bool]:
        """Try every source: (what is wrong with each, or [], was one another file, was there no way to any)."""
        problems: list[str] = []
        mismatch, unreachable = False, bool(self._config.sources)
        # As configured, but the source of a begun download first: its bytes are worth more than the order.
        begun = read_json(self._final + ".part.json").get("url")
        sources = sorted(self._config.sources, key=lambda source: source.url != begun)
        for source in sources:
            try:
                if source.kind == "file":
                    self._link(source)
                else:
                    # The last one gets one try more.
                    self._download(source, REACH_TRIES + (source is sources[-1]))
                return [], False, False
            except SourceFailed as problem:
                text = "%s: %s" % (_short(source.url), problem)
                self._phase.note("source failed: " + text)
                mismatch = mismatch or problem.mismatch
                unreachable = unreachable and problem.unreachable
                # The wrong file first: what is wrong with a fallback matters less.
                problems.insert(0 if problem.mismatch else len(problems), text)
        return problems, mismatch, unreachable

    def _already_here(self) -> bool:
        """Adopt what an earlier run finished: by its record, else (pinned only) by the file's own digest."""
        pin, record = self._config.sha256, read_json(self._final + ".json")
        try:
            here = os.stat(self._final)
        except OSError:
            return False
        if (record.get("size"), record.get("mtime_ns")) == (here.st_size, here.st_mtime_ns):
            known = record["url"] in [source.url for source in self._config.sources]
            good = record["sha256"] == pin if pin else known
        else:
            good = pin is not None and self._digest(self._final) == pin
            if good:
                record = self._record(self._final, str(pin), "spec", "")
        if good:
            self._phase.result(message="already here")
            self._done(here.st_size, record["sha256"], record["by"])
        return good

    def _download(self, source: Source, reach_tries: int) -> None:
        sha256, size, by = self._expect(source)
        part = Part(self._final + ".part", source.url, self._config.piece)
        resumed_at, known = part.offset, part.wire
        try:
            headers = self._s3_headers if source.kind == "s3" else _no_headers
            url = _s3_url(source.url) if source.kind == "s3" else source.url
            pause, connections = self._config.retry_s, self._config.connections
            Download(url, part, size, headers, self._phase, self._stop, pause, reach_tries, connections).run()
            digest = part.hexdigest()
            problem = ""
            if size and part.offset != size:
                problem = "it has %d bytes, %d are expected" % (part.offset, size)
            elif sha256 and digest != sha256:
                problem = "sha256 is %s, %s is expected" % (digest, sha256)
            elif not part.begins_with(_MAGIC):
                problem = "what it serves is not a GGUF file"
            if problem:
                part.discard()
                raise SourceFailed(problem, mismatch=True)
            # The record first: were it missing, a finished file would be downloaded again.
            self._record(part.path, digest, by, source.url)
            part.finish(self._final)
        finally:
            part.close()
        twice = part.wire - part.offset
        if twice:
            self._phase.result(message="%d bytes (%.2f %%) were fetched twice" % (twice, twice * 100 / part.offset))
        self._done(part.offset, digest, by, received=part.wire - known, resumed_at=resumed_at, fetched_twice=twice)

    def _expect(self, source: Source) -> tuple[str | None, int | None, str | None]:
        """(sha256, size, who says so): the spec's pin, else the listing's, else none, which is said."""
        pin, listed = self._config.sha256, self._listing(source)
        sha256, size = listed.get("Sha256"), self._config.size or listed.get("Size")
        if pin:
            if sha256 and sha256 != pin:
                raise SourceFailed("its listing has sha256 %s, the spec pins %s" % (sha256, pin), mismatch=True)
            return pin, size, "spec"
        if sha256:
            return sha256, size, "listing"
        self._phase.note("not pinned: neither the spec nor %s has a sha256" % _short(source.url))
        return None, size, None

    def _listing(self, source: Source) -> dict[str, Any]:
        """The hub's entry for the file; {} when the hub does not say."""
        reason = ""
        for number in range(_LISTING_TRIES if source.listing_url else 0):
            self._stop.pause(self._config.retry_s * number)
            try:
                status, body = call(source.listing_url or "", 10)
                reason = "HTTP %d" % status
                if status == 200:
                    for entry in json.loads(body)["Data"]["Files"]:
                        if source.listing_path in (entry.get("Path"), entry.get("Name")):
                            return dict(entry)
                    reason = "the file is not in it"
                if status < 500:
                    break
            except (LookupError, TypeError, ValueError, *NETWORK_ERRORS) as error:
                reason = "%s %s" % (type(error).__name__, error)
        if reason:
            self._phase.note("the hub's listing cannot be used: " + reason)
        return {}

    def _link(self, source: Source) -> None:
        """From a file:// source: a hard link, else a symbolic one (which no container could follow), else a copy."""
        pin = self._config.sha256
        path = self._config.root + urllib.request.url2pathname(urllib.parse.urlsplit(source.url).path)
        path = os.path.realpath(path)
        if not os.path.isfile(path):
            raise SourceFailed("there is no file %s" % path)
        digest = self._digest(path)
        if pin and digest != pin:
            raise SourceFailed("sha256 is %s, %s is expected" % (digest, pin), mismatch=True)
        if path != os.path.realpath(self._final):
            new = self._final + ".new"
            remove(new)
            try:
                os.link(path, new)
            except OSError:
                if self._config.docker:
                    need_space(self._phase, new, os.path.getsize(path))
                    shutil.copyfile(path, new)
                else:
                    os.symlink(path, new)
            os.replace(new, self._final)
        by = "spec" if pin else None
        self._record(self._final, digest, by, source.url)
        self._done(os.path.getsize(path), digest, by)

    def _digest(self, path: str) -> str:
        digest, done, total = hashlib.sha256(), 0, os.path.getsize(path)
        with open(path, "rb") as stream:
            for chunk in iter(lambda: stream.read(_CHUNK), b""):
                digest.update(chunk)
                done += len(chunk)
                self._phase.progress("checking the sha256", done, total)
                self._stop.check()
        return digest.hexdigest()

    def _record(self, path: str, sha256: str, by: str | None, url: str) -> dict[str, Any]:
        here = os.stat(path)
        record = {"size": here.st_size, "mtime_ns": here.st_mtime_ns, "sha256": sha256, "by": by, "url": url}
        write_json(self._final + ".json", record)
        return record

    def _done(self, size: int, sha256: str, by: str | None, **detail: int) -> None:
        self._phase.result(percent=100, bytes=size, total_bytes=size)
        self._phase.result(detail={"sha256": sha256, "pinned_by": by, **detail})

    def _s3_headers(self, url: str) -> dict[str, str]:
        """Signed with the instance's role; unsigned when there is none (a public object)."""
        if time.monotonic() - self._role_at > _ROLE_SECONDS:
            try:
                self._role = role_credentials()
            except MetadataError:
                self._role = None
            self._role_at = time.monotonic()
        if self._role is None:
            return {}
        return sign(self._role, "GET", url, {}, UNSIGNED, "s3", self._config.region, time.time())


def _no_headers(_url: str) -> dict[str, str]:
    return {}


def _s3_url(url: str) -> str:
    """https://BUCKET.s3.REGION.SUFFIX/KEY, or the same object at the endpoint that the environment names."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    parts = urllib.parse.urlsplit(url)
    return "%s/%s%s" % (endpoint, parts.netloc.split(".s3.")[0], parts.path) if endpoint else url


def _short(url: str) -> str:
    """A URL without its query, which may carry a signature."""
    return url.split("?")[0]
