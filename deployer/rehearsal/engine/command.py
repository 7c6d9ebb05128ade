"""`deployer-llama-server`: llama-server's command line in front of the llama.cpp of the xllamacpp wheel."""

from __future__ import annotations

import os
import signal
import sys
from importlib.metadata import PackageNotFoundError, version

from deployer.rehearsal.engine.parse import FlagError, parse, usage
from deployer.rehearsal.engine.serve import print_devices, serve


def main() -> None:
    """Parse, then help, version, devices or serve. Exits as llama-server does: 0 stopped, 1 refused or failed."""
    # Until the model is loaded llama-server has no handlers: both signals end it at once.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    try:
        invocation = parse(sys.argv[1:], os.environ)
        match invocation.wants:
            case "help":
                print(usage())
            case "version":
                print(f"version: xllamacpp {_wheel()} (build {_build()}, commit unknown)", file=sys.stderr)
            case "list-devices":
                print_devices()
            case _:
                sys.exit(serve(invocation, os.environ))
    except FlagError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as error:
        print(f"error: {error.name} is not installed: pip install 'deployer[rehearsal]'", file=sys.stderr)
        sys.exit(1)


def _wheel() -> str:
    try:
        return version("xllamacpp")
    except PackageNotFoundError:
        return "not installed"


def _build() -> str:
    """The wheel calls its build 0; the build number is the last part of the wheel's own version."""
    number = _wheel().rpartition(".")[2]
    return number if number.isdigit() else "unknown"


if __name__ == "__main__":
    main()
