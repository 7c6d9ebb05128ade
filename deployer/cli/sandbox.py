"""`deployer sandbox`: the embedded AWS kept running, so that commands can be typed one by one."""

from __future__ import annotations

import json
import os
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from deployer.cli.options import json_option, seconds_of
from deployer.cli.rehearse import require_extra
from deployer.cli.session import open_view
from deployer.errors import RefusedError
from deployer.events import Event

if TYPE_CHECKING:
    from types import ModuleType

    from deployer.rehearsal.sandbox import SandboxInfo
    from deployer.rehearsal.tiny_model import TinyArchitecture

_STATUS_TIMEOUT_SECONDS = 30

_state_option = click.option(
    "--state",
    type=click.Path(path_type=Path, file_okay=False),
    help="The sandbox's directory; another one is another sandbox.",
)


@click.group()
def sandbox() -> None:
    """Keep an embedded AWS running to try commands on.

    \b
    deployer sandbox start
    eval "$(deployer sandbox env)"
    deployer up stacks/g5-27b-mtp.yaml
    deployer down
    deployer sandbox stop
    """  # noqa: D301 — click wants the character


@sandbox.command()
@_state_option
@click.option("--machines", type=click.Choice(["auto", "booted", "process"]), default="auto", show_default=True)
@json_option
def start(state: Path | None, machines: str, *, as_json: bool) -> None:
    """Start the embedded AWS in the background; again: say that it runs."""
    directory = _directory(state)
    info = _service().start(directory, machines=machines)
    with open_view(as_json=as_json) as view:
        fields = {"url": info.url, "pid": info.pid, "state": str(directory)}
        view.show(Event("sandbox.started", {**fields, "substitutions": [*info.substitutions]}))


@sandbox.command()
@_state_option
@json_option
def env(state: Path | None, *, as_json: bool) -> None:
    """Print the variables that point the product (and any AWS tool) at the sandbox, for `eval`."""
    info = _running(state)
    with open_view(as_json=as_json) as view:
        view.show(Event("sandbox.env", dict(info.env)))


@sandbox.command()
@_state_option
@json_option
def status(state: Path | None, *, as_json: bool) -> None:
    """Show everything that exists in the embedded account; empty when nothing does."""
    info = _running(state)
    inventory = _ask(info, "status")
    with open_view(as_json=as_json) as view:
        view.show(Event("sandbox.status", inventory))


@sandbox.command()
@click.argument("stack")
@click.option("--after", callback=seconds_of, default="2m", metavar="DURATION", help="AWS gives two minutes.")
@_state_option
@json_option
def interrupt(stack: str, after: float, state: Path | None, *, as_json: bool) -> None:
    """Let the spot market take back the instances of a stack, which find its notice."""
    from deployer.aws.tags import STACK

    info = _running(state)
    body = json.dumps({"tag": [STACK, stack], "seconds": after}).encode()
    taken = _ask(info, "interrupt", body)["interrupted"]
    if not taken:
        raise RefusedError(f"no spot instance of stack {stack} runs", where=stack, hint="instance.market: spot")
    with open_view(as_json=as_json) as view:
        text = f"AWS takes back {', '.join(taken)} in {after:.0f} s"
        fields = {"stack": stack, "instances": taken, "seconds": after}
        view.show(Event("sandbox.interrupted", fields) if as_json else Event("text", {"text": text}))


@sandbox.command()
@_state_option
@json_option
def stop(state: Path | None, *, as_json: bool) -> None:
    """Stop the embedded AWS, every machine in it, and forget the account."""
    directory = _directory(state)
    was_running = _service().stop(directory)
    with open_view(as_json=as_json) as view:
        view.show(Event("sandbox.stopped", {"was_running": was_running, "state": str(directory)}))


@sandbox.command()
@click.option("--arch", type=click.Choice(["qwen35", "qwen35moe"]), default="qwen35", show_default=True)
@click.option("--no-mtp", is_flag=True, help="Leave the MTP head out.")
@click.option("--accept", type=click.FloatRange(0, 1), default=0.75, show_default=True, help="Share of right drafts.")
@click.option("--scale", type=click.IntRange(1, 6), default=1, show_default=True, help="2: 50 MB, 3: 150 MB, ...")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="The file to write.")
@json_option
def model(arch: TinyArchitecture, accept: float, scale: int, out: Path | None, *, no_mtp: bool, as_json: bool) -> None:
    """Write the synthetic Qwen3.6-architecture model of a few MB, for `stacks/local-tiny.yaml`."""
    require_extra()
    from deployer.rehearsal import tiny_model

    # Where stacks/local-tiny.yaml looks for it.
    path = out or Path.home() / ".cache/deployer/models" / f"tiny-{arch}{'' if no_mtp else '-mtp'}.gguf"
    path.parent.mkdir(parents=True, exist_ok=True)
    head: tiny_model.MtpHead = "absent" if no_mtp else "present"
    tiny_model.write_variant(path, tiny_model.Variant(arch, head, accept, scale=scale))
    with open_view(as_json=as_json) as view:
        view.show(Event("written", {"files": [str(path)]}))


@sandbox.command()
@click.option("--mirror", metavar="URL", help="Base URL of a Debian archive; by default this machine's own sources.")
@click.option("--again", is_flag=True, help="Build it anew although it is there.")
@json_option
def rootfs(mirror: str | None, *, again: bool, as_json: bool) -> None:
    """Build the image for `--machines booted`: about a minute, 260 MB in the cache, root only."""
    require_extra()
    from deployer.rehearsal.machines.booted.rootfs import build_rootfs

    with open_view(as_json=as_json) as view:

        def progress(what: str) -> None:
            view.emit(Event("waiting", {"what": "the machine image", "observation": what}))

        path = build_rootfs(progress, mirror=mirror, again=again)
        view.show(Event("written", {"files": [str(path)]}))


def _service() -> ModuleType:
    require_extra()
    from deployer.rehearsal import sandbox as service

    return service


def _ask(info: SandboxInfo, path: str, body: bytes | None = None) -> Any:
    """The sandbox's control interface."""
    # No proxies: the environment of a sandbox shell points them at its network guard.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"{info.url}/_sandbox/{path}", body, timeout=_STATUS_TIMEOUT_SECONDS) as answer:
        return json.load(answer)


def _directory(state: Path | None) -> Path:
    return state or Path(_service().default_state_dir(os.environ))


def _running(state: Path | None) -> SandboxInfo:
    directory = _directory(state)
    info: SandboxInfo | None = _service().read(directory)
    if info is None:
        raise RefusedError("no sandbox is running", where=str(directory), hint="deployer sandbox start")
    return info
