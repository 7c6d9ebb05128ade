"""TLS in front of a server that was built without it: the xllamacpp wheel's llama.cpp has no SSL support."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading

_CHUNK = 65536


class TlsFront:
    """Listens on host:port with a certificate and hands every stream to a port of the loopback, until close().

    Raises OSError when it cannot listen, ssl.SSLError on files that are no certificate and key.
    """

    def __init__(self, host: str, port: int, behind: int, *, certificate: str, key: str) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._behind = behind
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tls-front", daemon=True)
        self._thread.start()
        listening = asyncio.start_server(self._serve, host, port, ssl=context)
        asyncio.run_coroutine_threadsafe(listening, self._loop).result()

    def close(self) -> None:
        """Stop; streams that are open end with the process."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    async def _serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            inside, question = await asyncio.open_connection("127.0.0.1", self._behind)
            upload = asyncio.create_task(_copy(client, question))
            await _copy(inside, answer)
            upload.cancel()
            question.close()
        answer.close()


async def _copy(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """To the end of the stream; the end itself is handed on only where TCP can say it."""
    with contextlib.suppress(OSError):
        while data := await source.read(_CHUNK):
            sink.write(data)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()
