"""A hub that serves synthetic weights under the real files' names, as ModelScope and plain file servers do."""

from __future__ import annotations

import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any, ClassVar, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

from deployer.clock import Clock, SystemClock
from deployer.rehearsal import tiny_model
from deployer.rehearsal.loopback_http import LoopbackServer
from deployer.rehearsal.variants import catalogue_files, variant_for

_CHUNK = 256 * 1024
_RESOLVE = re.compile(r"^/models/(?P<repo>[^/]+/[^/]+)/resolve/(?P<revision>[^/]+)/(?P<file>[^/]+)$")
_LISTING = re.compile(r"^/api/v1/models/(?P<repo>[^/]+/[^/]+)/repo/files$")
_ANY_GGUF = re.compile(r"^/(?P<folder>.*?)/?(?P<file>[^/]+\.gguf)$")
_RANGE = re.compile(r"^bytes=(\d*)-(\d*)$")


@dataclass(frozen=True)
class Behaviour:
    """How the hub misbehaves. bytes_per_second: limit of each connection. wrong_bytes: the right length, other bytes.

    cut_after_bytes: each body ends that early and the connection with it; for `cuts` bodies, or always when None.
    """

    bytes_per_second: float | None = None
    cut_after_bytes: int | None = None
    cuts: int | None = None
    wrong_bytes: bool = False


class Served(NamedTuple):
    """One file as the hub offers it. digest: sha256, hex."""

    path: Path
    size: int
    digest: str


@dataclass
class Tally:
    """What was served. bytes: of file bodies only. cuts: bodies cut short."""

    requests: int = 0
    bytes: int = 0
    cuts: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)


class WeightServer:
    """Listens on loopback from start() to close(). `behaviour` may be changed at any time.

    cache_dir: where the synthetic files are kept between runs. accept, padding_mib: see tiny_model.Variant.
    """

    def __init__(
        self, cache_dir: Path, *, accept: float = 0.75, padding_mib: int = 0, clock: Clock | None = None
    ) -> None:
        self.behaviour = Behaviour()
        self.tally = Tally()
        self.clock = clock or SystemClock()
        self._cache_dir = cache_dir
        self._accept = accept
        self._padding_mib = padding_mib
        self._digests: dict[Path, str] = {}
        self._asked: dict[str, set[str]] = {}
        self._lock = threading.Lock()
        self._server: LoopbackServer | None = None

    def start(self) -> WeightServer:
        """Begin to serve on a free port; returns self."""
        handler = type("Handler", (_Handler,), {"hub": self})
        self._server = LoopbackServer("127.0.0.1", handler, name="weights")
        return self

    @property
    def url(self) -> str:
        """Base URL, without a trailing slash."""
        assert self._server is not None
        return self._server.url

    @property
    def bytes_served(self) -> int:
        """Bytes of file bodies sent so far."""
        return self.tally.bytes

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
            self._server = None

    def file(self, location: str, name: str) -> Served:
        """The stand-in for a file, made on first use."""
        variant = variant_for(location, name, accept=self._accept, padding_mib=self._padding_mib)
        with self._lock:
            self._asked.setdefault(location, set()).add(name)
            path = tiny_model.cached(self._cache_dir, variant)
            if path not in self._digests:
                with path.open("rb") as stream:
                    self._digests[path] = hashlib.file_digest(stream, "sha256").hexdigest()
            return Served(path, path.stat().st_size, self._digests[path])

    def listing(self, repo: str, revision: str) -> dict[str, Any]:
        """ModelScope's repo/files document: what the catalogue knows there and what was asked for before."""
        names = sorted({*catalogue_files(repo), *self._asked.get(repo, ())})
        files = []
        for name in names:
            served = self.file(repo, name)
            files.append(
                {
                    "Name": name,
                    "Path": name,
                    "Type": "blob",
                    "Size": served.size,
                    "Sha256": served.digest,
                    "IsLFS": True,
                    "Revision": revision,
                }
            )
        return {"Code": 200, "Success": True, "Message": "success", "Data": {"Files": files}}


class _Handler(BaseHTTPRequestHandler):
    hub: ClassVar[WeightServer]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: the caller counts in `tally`."""

    def _answer(self, *, body: bool) -> None:
        with self.hub.tally.lock:
            self.hub.tally.requests += 1
        url = urlsplit(self.path)
        path = unquote(url.path)
        if found := _LISTING.match(path):
            revision = parse_qs(url.query).get("Revision", ["master"])[0]
            self._send_json(200, self.hub.listing(found["repo"], revision), body=body)
        elif found := _RESOLVE.match(path):
            self._send_file(self.hub.file(found["repo"], found["file"]), body=body)
        elif found := _ANY_GGUF.match(path):
            self._send_file(self.hub.file(found["folder"], found["file"]), body=body)
        else:
            self._send_json(404, {"Code": 404, "Success": False, "Message": "not found"}, body=body)

    def _send_json(self, status: int, document: dict[str, Any], *, body: bool) -> None:
        text = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        if body:
            self.wfile.write(text)

    def _send_file(self, served: Served, *, body: bool) -> None:
        first, last, status = self._wanted(served)
        self.send_response(status)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("ETag", f'"{served.digest}"')
        if status == 416:
            self.send_header("Content-Range", f"bytes */{served.size}")
        elif status == 206:
            self.send_header("Content-Range", f"bytes {first}-{last}/{served.size}")
        length = last - first + 1
        self.send_header("Content-Type", "application/octet-stream")
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if body and length:
            self._send_bytes(served.path, first, length)

    def _wanted(self, served: Served) -> tuple[int, int, int]:
        """First and last byte, and the status. A range that no longer matches If-Range gives the whole file."""
        whole = (0, served.size - 1, 200)
        asked = _RANGE.match(self.headers.get("Range", ""))
        condition = self.headers.get("If-Range")
        if asked is None or asked[0] == "bytes=-" or (condition and condition != f'"{served.digest}"'):
            return whole
        if not asked[1]:
            return (max(0, served.size - int(asked[2])), served.size - 1, 206)
        first = int(asked[1])
        if first >= served.size:
            return (0, -1, 416)
        last = min(int(asked[2]), served.size - 1) if asked[2] else served.size - 1
        return (first, last, 206) if first <= last else whole

    def _send_bytes(self, path: Path, first: int, length: int) -> None:
        behaviour, tally, clock = self.hub.behaviour, self.hub.tally, self.hub.clock
        left = length
        if behaviour.cut_after_bytes is not None and behaviour.cut_after_bytes < length:
            with tally.lock:
                if behaviour.cuts is None or tally.cuts < behaviour.cuts:
                    tally.cuts += 1
                    left = behaviour.cut_after_bytes
                    self.close_connection = True
        with path.open("rb") as stream:
            stream.seek(first)
            while left > 0:
                chunk = stream.read(min(left, _pace(behaviour)))
                if behaviour.wrong_bytes:
                    chunk = bytes(byte ^ 0xFF for byte in chunk)
                try:
                    self.wfile.write(chunk)
                except (BrokenPipeError, ConnectionResetError):
                    self.close_connection = True
                    return
                left -= len(chunk)
                with tally.lock:
                    tally.bytes += len(chunk)
                if behaviour.bytes_per_second:
                    clock.sleep(len(chunk) / behaviour.bytes_per_second)


def _pace(behaviour: Behaviour) -> int:
    """Bytes to send at once: twenty steps a second when the rate is limited, so that progress is smooth."""
    if behaviour.bytes_per_second is None:
        return _CHUNK
    return max(1, min(_CHUNK, int(behaviour.bytes_per_second / 20)))
