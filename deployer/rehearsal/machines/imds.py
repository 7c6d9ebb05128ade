"""The instance metadata service of one machine: version 2 only, a token first."""

from __future__ import annotations

import json
import re
import secrets
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler

from deployer.clock import Clock
from deployer.rehearsal.loopback_http import LoopbackServer

_TOKEN_PATH = "/latest/api/token"  # noqa: S105
_TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
_TOKEN_HEADER = "X-aws-ec2-metadata-token"  # noqa: S105
_LONGEST_TTL = 21600
#: Documents are also served below the version they have had since, which cloud-init asks for.
_VERSION = re.compile(r"^\d{4}-\d{2}-\d{2}(?=/|$)")


class InstanceMetadata:
    """The documents of one machine and the tokens that open them.

    metadata: paths below /latest/meta-data -> text, read anew at each request. user_data: raw, empty for none.
    """

    def __init__(self, metadata: Mapping[str, str], user_data: bytes, clock: Clock) -> None:
        self.metadata = metadata
        self.user_data = user_data
        self._clock = clock
        self._tokens: dict[str, float] = {}
        self._lock = threading.Lock()

    def issue(self, seconds: int) -> str:
        """A new session token for that long."""
        token = secrets.token_urlsafe(40)
        with self._lock:
            self._tokens[token] = self._clock.now() + seconds
        return token

    def accepts(self, token: str | None) -> bool:
        """Whether a token was issued here and is still good."""
        with self._lock:
            return token is not None and self._tokens.get(token, 0.0) > self._clock.now()

    def lookup(self, path: str) -> bytes | None:
        """The document at a path, a listing of what lies below it, or None."""
        path = _VERSION.sub("latest", path.strip("/"))
        if path == "latest":
            return b"dynamic\nmeta-data\nuser-data"
        if path == "latest/user-data":
            return self.user_data or None
        first, _, rest = path.removeprefix("latest/").partition("/")
        trees = {"meta-data": lambda: self.metadata, "dynamic": self._dynamic}
        if not path.startswith("latest/") or first not in trees:
            return None
        text = _below(trees[first](), rest)
        return None if text is None else text.encode()

    def _dynamic(self) -> Mapping[str, str]:
        names = {
            "instanceId": "instance-id",
            "instanceType": "instance-type",
            "imageId": "ami-id",
            "privateIp": "local-ipv4",
            "region": "placement/region",
            "availabilityZone": "placement/availability-zone",
        }
        document = {"version": "2017-09-30", **{name: self.metadata.get(path) for name, path in names.items()}}
        return {"instance-identity/document": json.dumps(document, indent=2)}


def _below(metadata: Mapping[str, str], path: str) -> str | None:
    if path in metadata:
        return metadata[path]
    prefix = f"{path}/" if path else ""
    if prefix == "public-keys/" and any(name.startswith(prefix) for name in metadata):
        return "0=key"
    names: dict[str, None] = {}
    for name in metadata:
        if name.startswith(prefix):
            first, slash, _ = name.removeprefix(prefix).partition("/")
            names[first + slash] = None
    return "\n".join(names) if names else None


class MetadataHandler(BaseHTTPRequestHandler):
    """Answers one request. asked: whose metadata it is about, None when nobody's."""

    protocol_version = "HTTP/1.1"
    server_version = "EC2ws"
    sys_version = ""

    def asked(self) -> InstanceMetadata | None:
        raise NotImplementedError

    def do_PUT(self) -> None:
        asked = self.asked()
        if asked is None or self.path != _TOKEN_PATH:
            self._send(404, b"")
            return
        ttl = self.headers.get(_TTL_HEADER, "")
        if self.headers.get("X-Forwarded-For"):
            self._send(403, b"")
        elif not ttl.isdigit() or not 1 <= int(ttl) <= _LONGEST_TTL:
            self._send(400, b"")
        else:
            self._send(200, asked.issue(int(ttl)).encode(), {_TTL_HEADER: ttl})

    def do_GET(self) -> None:
        asked = self.asked()
        if asked is None:
            self._send(404, b"")
            return
        if not asked.accepts(self.headers.get(_TOKEN_HEADER)):
            self._send(401, b"")
            return
        found = asked.lookup(self.path.partition("?")[0])
        self._send(200 if found is not None else 404, found or b"")

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: credentials are among what is served."""

    def _send(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class MetadataService(InstanceMetadata):
    """Serves on the machine's own address from construction to close()."""

    def __init__(self, address: str, metadata: Mapping[str, str], user_data: bytes, clock: Clock) -> None:
        super().__init__(metadata, user_data, clock)
        handler = type("Handler", (MetadataHandler,), {"asked": lambda _request: self})
        self._server = LoopbackServer(address, handler, name="imds")

    @property
    def url(self) -> str:
        """What AWS_EC2_METADATA_SERVICE_ENDPOINT is to say."""
        return self._server.url

    def close(self) -> None:
        """Stop serving."""
        self._server.close()
