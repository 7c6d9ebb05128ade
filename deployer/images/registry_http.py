"""One container registry over HTTP (the OCI distribution API): manifests and blobs read, sent and checked.

No docker is needed. httpx is loaded when somebody connects.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

import deployer
from deployer.errors import DeployerError

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
#: Without a single byte.
SILENCE_SECONDS = 60.0
INDEXES = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
MANIFESTS = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_CHUNK = 1 << 20


class RegistryError(DeployerError):
    """A registry does not answer, does not let in, or sends what was not asked for."""

    code = "registry"


class Registry:
    """host: `HOST[:PORT]`. login: (user, password); without one, the token that the registry gives to everybody.

    plain_http: without TLS, for a registry on this machine.
    """

    def __init__(self, host: str, *, login: tuple[str, str] | None = None, plain_http: bool = False) -> None:
        import httpx

        self.host = host
        self._base = f"{'http' if plain_http else 'https'}://{host}"
        self._login = login
        self._token: dict[str, str] = {}
        self._client = httpx.Client(
            follow_redirects=True,
            timeout=httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
            headers={"User-Agent": f"deployer/{deployer.__version__}", "Accept-Encoding": "identity"},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._client.close()

    def manifest(self, repository: str, reference: str) -> tuple[bytes, str, str]:
        """(content, media type, digest) under a tag or digest. The digest is computed and compared."""
        answer = self._ask("GET", repository, f"manifests/{reference}", Accept=", ".join((*INDEXES, *MANIFESTS)))
        content = answer.content
        digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
        if reference.startswith("sha256:") and digest != reference:
            raise RegistryError(f"{self.host}/{repository}: the manifest {reference} has other content ({digest})")
        return content, answer.headers.get("Content-Type", "").partition(";")[0], digest

    def has_manifest(self, repository: str, reference: str) -> str | None:
        """The digest that the tag stands for; None when there is none."""
        accept = ", ".join((*INDEXES, *MANIFESTS))
        answer = self._ask("HEAD", repository, f"manifests/{reference}", missing=True, Accept=accept)
        return answer.headers.get("Docker-Content-Digest") if answer.status_code == _OK else None

    def has_blob(self, repository: str, digest: str) -> bool:
        """Whether it is there already."""
        return self._ask("HEAD", repository, f"blobs/{digest}", missing=True).status_code == _OK

    def blob(self, repository: str, digest: str) -> Iterator[bytes]:
        """The content in pieces. Raises RegistryError at the end when it was not what the digest says."""
        import httpx

        told = hashlib.sha256()
        # A request without a body first: whether we are let in is settled before a stream is open.
        self._ask("HEAD", repository, f"blobs/{digest}")
        url = f"{self._base}/v2/{repository}/blobs/{digest}"
        try:
            with self._client.stream("GET", url, headers=dict(self._token)) as answer:
                if answer.status_code != _OK:
                    raise RegistryError(f"{self.host}: {digest} of {repository}: HTTP {answer.status_code}")
                for piece in answer.iter_bytes(_CHUNK):
                    told.update(piece)
                    yield piece
        except httpx.HTTPError as error:
            raise RegistryError(f"{self.host}: {digest} was cut: {error or type(error).__name__}") from None
        if f"sha256:{told.hexdigest()}" != digest:
            raise RegistryError(f"{self.host}: {digest} of {repository} has other content (sha256:{told.hexdigest()})")

    def send_blob(self, repository: str, digest: str, size: int, pieces: Iterator[bytes]) -> None:
        """One upload in one request, as containerd does it; the registry checks the digest once more."""
        place = self._ask("POST", repository, "blobs/uploads/").headers["Location"]
        url = place if place.startswith("http") else self._base + place
        url += ("&" if "?" in url else "?") + f"digest={digest}"
        headers = {"Content-Type": "application/octet-stream", "Content-Length": str(size), **self._token}
        self._checked(self._request("PUT", url, headers, pieces), f"{repository}: layer {digest}")

    def send_manifest(self, repository: str, tag: str, content: bytes, media_type: str) -> None:
        """After its blobs."""
        self._ask("PUT", repository, f"manifests/{tag}", content=content, Content_Type=media_type)

    def _ask(
        self,
        method: str,
        repository: str,
        path: str,
        *,
        missing: bool = False,
        content: bytes | None = None,
        **headers: str,
    ) -> httpx.Response:
        url = f"{self._base}/v2/{repository}/{path}"
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        answer = self._request(method, url, {**named, **self._token}, content)
        if answer.status_code == _UNAUTHORISED:
            self._token = self._authorise(answer.headers.get("WWW-Authenticate", ""), repository)
            answer = self._request(method, url, {**named, **self._token}, content)
        if missing and answer.status_code == _NOT_FOUND:
            return answer
        return self._checked(answer, f"{repository}/{path}")

    def _request(self, method: str, url: str, headers: dict[str, str], content: Any) -> httpx.Response:
        import httpx

        try:
            return self._client.request(method, url, headers=headers, content=content)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise RegistryError(
                f"{self.host} does not answer: {error or type(error).__name__}",
                where=f"https://{self.host}/v2/",
                hint="copy from a machine that reaches the registry; the environment's proxies count",
            ) from None

    def _authorise(self, challenge: str, repository: str) -> dict[str, str]:
        import base64

        words = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if challenge.lower().startswith("basic") and self._login:
            return {"Authorization": "Basic " + base64.b64encode(":".join(self._login).encode()).decode()}
        if not challenge.lower().startswith("bearer") or "realm" not in words:
            raise RegistryError(f"{self.host} asks for a login to read {repository}", hint="docker login is not read")
        asked = {name: words[name] for name in ("service", "scope") if name in words}
        answer = self._client.get(words["realm"], params=asked, auth=self._login)
        document = self._checked(answer, f"a token for {repository}").json()
        return {"Authorization": f"Bearer {document.get('token') or document['access_token']}"}

    def _checked(self, answer: httpx.Response, what: str) -> httpx.Response:
        if answer.is_success:
            return answer
        said = answer.text.strip()[:200] if answer.request.method != "HEAD" else ""
        hint = "check the name and the tag" if answer.status_code == _NOT_FOUND else None
        raise RegistryError(f"{self.host}: {what}: HTTP {answer.status_code} {said}".rstrip(), hint=hint)


_OK, _UNAUTHORISED, _NOT_FOUND = 200, 401, 404
