"""A file on a web server, read by ranges. httpx is loaded by the first one."""

from __future__ import annotations

import re
import ssl
from collections.abc import Iterator
from typing import TYPE_CHECKING

import deployer
from deployer.models.places import Place
from deployer.models.source import Flaky, SourceChanged, SourceError

if TYPE_CHECKING:
    import httpx

CONNECT_SECONDS = 10.0
#: Without a single byte; a hub that is only slow sends some.
SILENCE_SECONDS = 30.0
_CONTENT_RANGE = re.compile(r"bytes (\d+)-(\d+)/(\d+)")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_NOT_NOW = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpSource:
    """Opening asks for the first byte: that tells the size, the tag, and whether ranges work. Raises SourceError.

    The environment's proxies and SSL_CERT_FILE count: hubs are outside, often behind a company's proxy.
    """

    def __init__(self, place: Place) -> None:
        import httpx

        self.shown = place.shown
        self._url = place.address
        self._client = httpx.Client(
            follow_redirects=True,
            timeout=httpx.Timeout(SILENCE_SECONDS, connect=CONNECT_SECONDS),
            # An encoding would change the bytes that are counted.
            headers={"User-Agent": f"deployer/{deployer.__version__}", "Accept-Encoding": "identity"},
        )
        self.size = 0
        self.tag: str | None = None
        self.sha256: str | None = None
        try:
            self._open()
        except Flaky as why:
            self.close()
            raise SourceError(f"{self.shown} cannot be read: {why}", hint="check the network and proxy") from None
        except BaseException:
            self.close()
            raise

    def chunks(self, start: int, length: int) -> Iterator[bytes]:
        import httpx

        headers = {"Range": f"bytes={start}-{start + length - 1}"}
        if self.tag is not None and self.tag.startswith('"'):
            headers["If-Range"] = self.tag
        try:
            with self._client.stream("GET", self._url, headers=headers) as answer:
                self._check(answer, start)
                left = length
                # To its end, so that the connection serves the next part as well.
                for chunk in answer.iter_raw():
                    yield chunk[:left]
                    left -= len(chunk)
                if left > 0:
                    raise Flaky(f"the connection ended {left:,} bytes early")
        except httpx.HTTPError as error:
            raise self._failure(error) from None

    def close(self) -> None:
        self._client.close()

    def _open(self) -> None:
        import httpx

        try:
            with self._client.stream("GET", self._url, headers={"Range": "bytes=0-0"}) as answer:
                self._refuse_status(answer)
                if answer.status_code == 416:
                    raise SourceError(f"{self.shown} is empty")
                found = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
                if answer.status_code != 206 or found is None:
                    raise SourceError(
                        f"{self.shown}: the server ignores ranged requests, so only the whole file could be read",
                        hint="download the file and give its path, or name another source",
                    )
                answer.read()
                self.size = int(found[3])
                self.tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified")
                self.sha256 = _linked_sha256(answer)
        except httpx.HTTPError as error:
            raise self._failure(error) from None
        except httpx.InvalidURL as error:
            raise SourceError(f"{self.shown} is no URL: {error}") from None

    def _check(self, answer: httpx.Response, start: int) -> None:
        self._refuse_status(answer)
        found = _CONTENT_RANGE.fullmatch(answer.headers.get("Content-Range", ""))
        if answer.status_code != 206 or found is None or int(found[3]) != self.size:
            raise SourceChanged(f"{self.shown} changed while it was read", hint="run the same command again")
        if int(found[1]) != start:
            raise SourceError(f"{self.shown}: the server answered with another range than the one asked for")

    def _refuse_status(self, answer: httpx.Response) -> None:
        status = answer.status_code
        if status in (200, 206, 416):
            return
        said = f"{status} {answer.reason_phrase}".strip()
        if status in _NOT_NOW:
            raise Flaky(f"the server answered {said}")
        match status:
            case 404 | 410:
                raise SourceError(
                    f"{self.shown} does not exist: the server answered {said}",
                    hint="check the spelling, the capitals and the revision",
                )
            case 401 | 403:
                raise SourceError(
                    f"{self.shown} may not be read: the server answered {said}",
                    hint="it needs a login or an accepted licence: download it and give its path",
                )
            case _:
                raise SourceError(f"{self.shown} cannot be read: the server answered {said}")

    def _failure(self, error: httpx.HTTPError) -> Exception:
        import httpx

        text = str(error) or type(error).__name__
        if _is_tls(error):
            return SourceError(
                f"{self.shown}: the connection is not trusted: {_tls_text(text)}",
                hint="a company's own authority goes into SSL_CERT_FILE",
            )
        if isinstance(error, httpx.UnsupportedProtocol | httpx.TooManyRedirects | httpx.ProxyError):
            return SourceError(f"{self.shown} cannot be read: {text}")
        if isinstance(error, httpx.TimeoutException):
            return Flaky(f"no answer within {SILENCE_SECONDS:.0f} s")
        return Flaky(text)


def _linked_sha256(answer: httpx.Response) -> str | None:
    """Hubs that redirect to a store say the file's own digest on the way (Hugging Face and its mirrors)."""
    for step in (*answer.history, answer):
        linked = step.headers.get("X-Linked-ETag", "").strip('"')
        if _SHA256.fullmatch(linked):
            return str(linked)
    return None


def _is_tls(error: BaseException) -> bool:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLError):
            return True
        cause = cause.__cause__ or cause.__context__
    return "[SSL" in str(error) or "CERTIFICATE" in str(error)


def _tls_text(text: str) -> str:
    """OpenSSL's words without its brackets and source line."""
    return re.sub(r"\[SSL[^\]]*\]\s*|\s*\(_ssl\.c:\d+\)", "", text) or text
