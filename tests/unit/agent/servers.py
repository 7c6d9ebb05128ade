"""Real HTTP servers on loopback that serve files well or badly, and the two AWS services the agent talks to."""

from __future__ import annotations

import base64
import http.server
import json
import re
import threading
from dataclasses import dataclass, field
from typing import Any, Self

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials


class Server:
    """A threading HTTP server whose handler sees it as `self.server.owner`."""

    handler: type[http.server.BaseHTTPRequestHandler]

    def __enter__(self) -> Self:
        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self.handler)
        self._http.owner = self  # type: ignore[attr-defined]
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"
        threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()


class _Quiet(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    @property
    def owner(self) -> Any:
        return self.server.owner  # type: ignore[attr-defined]

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@dataclass
class Served:
    """One file and how it is served.

    cut_after: bytes of each answer's body after which the connection is closed, `cuts` times. pause_at: the answer
    stops there until `go` is set. statuses: sent instead, one a request, before the file is served.
    """

    body: bytes
    ranges: bool = True
    etag: str | None = '"1"'
    length: bool = True
    cut_after: int | None = None
    cuts: int = 0
    pause_at: int | None = None
    statuses: list[int] = field(default_factory=list)
    heed_if_range: bool = True


class _Files(_Quiet):
    def do_GET(self) -> None:
        owner: FileServer = self.owner
        owner.requests.append((self.path, dict(self.headers.items())))
        path = self.path.split("?")[0]
        if path == "/moved":
            self.answer(302, b"", Location="/file")
            return
        served = owner.files.get(path)
        if served is None:
            self.answer(404, b"not here")
        elif served.statuses:
            self.answer(served.statuses.pop(0), b"later", Retry_After="0")
        else:
            self._file(owner, served)

    def _file(self, owner: FileServer, served: Served) -> None:
        total, start = len(served.body), 0
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        same = not served.heed_if_range or self.headers.get("If-Range") in (None, served.etag)
        if match and served.ranges and same:
            start = int(match[1])
            if start >= total:
                self.answer(416, b"")
                return
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{total - 1}/{total}")
        else:
            self.send_response(200)
        if served.etag:
            self.send_header("ETag", served.etag)
        if served.length:
            self.send_header("Content-Length", str(total - start))
        self.end_headers()
        end = total
        if served.cuts > 0 and served.cut_after is not None:
            served.cuts -= 1
            end = min(total, start + served.cut_after)
        if served.pause_at is not None and start < served.pause_at < end:
            self._send(owner, served.body[start : served.pause_at])
            owner.paused.set()
            owner.go.wait(30)
            start = served.pause_at
        self._send(owner, served.body[start:end])
        self.close_connection = True

    def _send(self, owner: FileServer, data: bytes) -> None:
        try:
            self.wfile.write(data)
            self.wfile.flush()
            owner.sent += len(data)
        except OSError:
            pass


class FileServer(Server):
    """files: path -> Served. requests: (path, headers) of every one. sent: body bytes that left."""

    handler = _Files

    def __init__(self) -> None:
        self.files: dict[str, Served] = {}
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.sent = 0
        self.go = threading.Event()
        self.paused = threading.Event()

    def listing(self, *entries: dict[str, Any]) -> str:
        """Serve ModelScope's listing; its URL."""
        document = {"Code": 200, "Data": {"Files": list(entries)}}
        self.files["/listing"] = Served(json.dumps(document).encode())
        return self.url + "/listing?Revision=master"

    def count(self, path: str) -> int:
        return sum(asked.split("?")[0] == path for asked, _ in self.requests)

    def __exit__(self, *_: object) -> None:
        self.go.set()
        super().__exit__()


class _Metadata(_Quiet):
    def do_PUT(self) -> None:
        owner: Metadata = self.owner
        if self.path == "/latest/api/token" and self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            self.answer(200, owner.token.encode())
        else:
            self.answer(400, b"")

    def do_GET(self) -> None:
        owner: Metadata = self.owner
        if self.headers.get("X-aws-ec2-metadata-token") != owner.token:
            self.answer(401, b"")
            return
        if owner.missing > 0:
            owner.missing -= 1
            self.answer(404, b"")
            return
        credentials = {"Code": "Success", "AccessKeyId": "ASIAROLE", "SecretAccessKey": "secret/+", "Token": "token=="}
        folder = "/latest/meta-data/iam/security-credentials/"
        bodies = {folder: "the-role", folder + "the-role": json.dumps(credentials)}
        bodies |= {f"/latest/meta-data/{path}": json.dumps(notice) for path, notice in owner.notices.items()}
        body = bodies.get(self.path)
        self.answer(200 if body else 404, (body or "").encode())

    def do_POST(self) -> None:
        """SSM GetParameter(s) and ECR GetAuthorizationToken, signature checked with botocore's own signer."""
        owner: Metadata = self.owner
        data = self.rfile.read(int(self.headers["Content-Length"]))
        problem = owner.problem or _signature_problem(self, data)
        if problem:
            self.answer(400, json.dumps({"__type": problem, "message": "no"}).encode())
            if owner.problem_times:
                owner.problem_times -= 1
                if not owner.problem_times:
                    owner.problem = None
            return
        request = json.loads(data)
        if self.headers["X-Amz-Target"] == "AmazonEC2ContainerRegistry_V20150921.GetAuthorizationToken":
            token = base64.b64encode(f"AWS:{owner.value}".encode()).decode()
            self.answer(200, json.dumps({"authorizationData": [{"authorizationToken": token}]}).encode())
            return
        if self.headers["X-Amz-Target"] == "AmazonSSM.GetParameters":
            owner.batches.append(request["Names"])
            here = [name for name in request["Names"] if name in owner.parameters]
            found = [{"Name": name, "Value": owner.parameters[name]} for name in here]
            gone = [name for name in request["Names"] if name not in here]
            self.answer(200, json.dumps({"Parameters": found, "InvalidParameters": gone}).encode())
            return
        assert self.headers["X-Amz-Target"] == "AmazonSSM.GetParameter"
        assert request["WithDecryption"] is True
        owner.asked.append(request["Name"])
        self.answer(200, json.dumps({"Parameter": {"Name": request["Name"], "Value": owner.value}}).encode())


def _signature_problem(handler: _Quiet, data: bytes) -> str | None:
    sent = handler.headers
    headers = {
        name: sent[name] for name in ("Content-Type", "X-Amz-Target", "X-Amz-Date", "X-Amz-Security-Token", "Host")
    }
    request = AWSRequest("POST", f"http://{sent['Host']}{handler.path}", headers=headers, data=data)
    request.context["timestamp"] = sent["X-Amz-Date"]
    service = "ecr" if "ContainerRegistry" in sent["X-Amz-Target"] else "ssm"
    signer = SigV4Auth(Credentials("ASIAROLE", "secret/+", "token=="), service, "cn-northwest-1")
    text = signer.string_to_sign(request, signer.canonical_request(request))
    signature = signer.signature(text, request)
    return None if f"Signature={signature}" in sent["Authorization"] else "InvalidSignatureException"


class Metadata(Server):
    """IMDSv2, SSM and ECR on one port. missing: 404s before the role is there. problem: AWS's, problem_times often."""

    handler = _Metadata

    def __init__(self) -> None:
        self.token = "imds-token"
        self.missing = 0
        self.problem: str | None = None
        self.problem_times = 0
        self.value = "from-ssm-0123456789"
        self.asked: list[str] = []
        #: For GetParameters, and what it was asked for.
        self.parameters: dict[str, str] = {}
        self.batches: list[list[str]] = []
        #: Paths below meta-data -> document.
        self.notices: dict[str, dict[str, str]] = {}
