"""Runs llama.cpp's server in this process and ends it as llama-server ends.

One difference from the executable remains: a second SIGTERM ends the process by the signal, where llama-server exits
with 1.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import sys
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

from deployer.rehearsal.engine.flags import Member, Value
from deployer.rehearsal.engine.parse import FlagError, Invocation
from deployer.rehearsal.engine.tls_front import TlsFront

#: Most threads to compute with, whatever -t says: on a small shared machine more threads than cores make llama.cpp's
#: barriers wait for each other and cost a hundredfold of the speed.
THREAD_LIMIT_VARIABLE = "DEPLOYER_ENGINE_THREADS"
#: What llama-server takes for -np -1.
AUTO_SLOTS = 4


def serve(invocation: Invocation, environ: Mapping[str, str]) -> int:
    """Load and serve until SIGTERM or SIGINT; the exit status. Raises FlagError on a value llama.cpp refuses."""
    port = invocation.params["port"]
    assert isinstance(port, int)
    if "model.path" not in invocation.params:
        raise FlagError("error: router mode (no -m) is not part of this server")
    keys = _api_keys(invocation)
    if not _can_listen(invocation.host, port):
        print(
            f"E srv         start: couldn't bind HTTP server socket, hostname: {invocation.host}, port: {port}",
            file=sys.stderr,
        )
        return 1
    for name in invocation.without_effect:
        print(f"W srv         init: {name} has no effect in a rehearsal", file=sys.stderr)
    # Without it a failed assertion waits for gdb to print a stack.
    os.environ.setdefault("GGML_NO_BACKTRACE", "1")
    import xllamacpp

    params = _params(xllamacpp, invocation, keys)
    front = _behind_tls(params)
    _limit_threads(params, environ)
    opened = contextlib.ExitStack()
    try:
        server = xllamacpp.Server(params)
        if front is not None:
            opened.callback(front().close)
        _wait_for_signal()
        # Ending the server waits for plain requests in flight, as llama-server does.
        del server
    except RuntimeError:
        return 1  # llama.cpp has said why on its log
    finally:
        opened.close()
        flush_log(xllamacpp)
    return 0


def flush_log(xllamacpp: Any) -> None:
    """Wait until llama.cpp's log is written, as llama-server does before it ends.

    A thread of llama.cpp's writes it, and the end of the process would cut off what that has not yet come to. The
    wheel has no function of Python's for it, but llama.cpp's own in its library; a wheel without them keeps the race.
    """
    with contextlib.suppress(AttributeError, OSError):
        library = ctypes.CDLL(xllamacpp.xllamacpp.__file__)
        main, flush = library["_Z15common_log_mainv"], library["_Z16common_log_flushP10common_log"]
        main.restype = ctypes.c_void_p
        flush.argtypes, flush.restype = [ctypes.c_void_p], None
        flush(main())


def print_devices() -> None:
    """What --list-devices prints: accelerators only."""
    import xllamacpp

    print("Available devices:")
    cpu = xllamacpp.ggml_backend_dev_type.GGML_BACKEND_DEVICE_TYPE_CPU
    found = [device for device in xllamacpp.get_device_info() if device["type"] != cpu]
    for device in found:
        total, free = (device[key] // 2**20 for key in ("memory_total", "memory_free"))
        print(f"  {device['name']}: {device['description']} ({total} MiB, {free} MiB free)")
    if not found:
        print("  (none)")


def _params(xllamacpp: Any, invocation: Invocation, keys: list[str]) -> Any:
    params = xllamacpp.CommonParams()
    params.n_parallel = -1
    for target, value in invocation.params.items():
        *way, last = target.split(".")
        setattr(reduce(getattr, way, params), last, _resolve(xllamacpp, value))
    if params.n_parallel < 0:
        params.n_parallel, params.kv_unified = AUTO_SLOTS, True
    if "cpuparams_batch.n_threads" not in invocation.params:
        params.cpuparams_batch.n_threads = params.cpuparams.n_threads
    if invocation.devices not in (None, "none"):
        raise FlagError(f'error while handling argument "--device": invalid device: {invocation.devices}')
    if invocation.speculative:
        params.speculative.types = [_resolve(xllamacpp, kind) for kind in invocation.speculative]
    if invocation.aliases:
        params.model_alias = set(invocation.aliases)
    params.hostnames = [invocation.host]
    params.api_keys = keys
    return params


def _behind_tls(params: Any) -> Callable[[], TlsFront] | None:
    """Move a server that was asked for TLS to a free port of the loopback; gives what opens its front."""
    key, certificate = str(params.ssl_file_key), str(params.ssl_file_cert)
    if not (key and certificate):
        return None
    host, port = params.hostnames[0], params.port
    with socket.create_server(("127.0.0.1", 0)) as free:
        params.port = free.getsockname()[1]
    params.hostnames, params.ssl_file_key, params.ssl_file_cert = ["127.0.0.1"], "", ""
    return lambda: TlsFront(host, port, params.port, certificate=certificate, key=key)


def _resolve(xllamacpp: Any, value: Value) -> Any:
    if isinstance(value, Member):
        return getattr(getattr(xllamacpp, value.enumeration), value.name)
    return value


def _limit_threads(params: Any, environ: Mapping[str, str]) -> None:
    limit = int(environ.get(THREAD_LIMIT_VARIABLE, "0"))
    if limit < 1:
        return
    for group in (params.cpuparams, params.cpuparams_batch):
        group.n_threads = limit if group.n_threads < 1 else min(group.n_threads, limit)


def _api_keys(invocation: Invocation) -> list[str]:
    keys = list(invocation.api_keys)
    for name in invocation.api_key_files:
        try:
            lines = Path(name).read_text(encoding="utf-8").split("\n")
        except OSError:
            raise FlagError(
                f"error while handling argument \"--api-key-file\": error: failed to open file '{name}'"
            ) from None
        keys += [line for line in lines if line and not line.startswith("#")]
    return keys


def _can_listen(host: str, port: int) -> bool:
    """Asked before the model is loaded; llama.cpp's own answer would come without the reason."""
    if host.endswith(".sock"):
        return True
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            probe.listen()
    except OSError:
        return False
    return True


def _wait_for_signal() -> None:
    """Return at the first SIGTERM or SIGINT; a second one ends the process at once."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    endings = (signal.SIGTERM, signal.SIGINT)
    signal.set_wakeup_fd(writer)
    for number in endings:
        signal.signal(number, lambda *_: None)
    while os.read(reader, 1)[0] not in endings:
        pass
    signal.set_wakeup_fd(-1)
    for number in endings:
        signal.signal(number, signal.SIG_DFL)
