"""`deployer env`: what an OpenAI client needs, as exports for `eval`."""

from __future__ import annotations

import click

from deployer.cli.options import aws_options, json_option, make_settings
from deployer.cli.resolve import chosen_stack
from deployer.cli.session import open_view
from deployer.events import Event


@click.command()
@click.argument("stack", required=False, metavar="[STACK|SPEC]")
@click.option(
    "--port", type=click.IntRange(1, 65535), help="The tunnel's local port, when it is not the endpoint's own."
)
@aws_options
@json_option
def env(stack: str | None, port: int | None, region: str | None, profile: str | None, *, as_json: bool) -> None:
    """Print OPENAI_BASE_URL and OPENAI_API_KEY of a stack, for `eval "$(deployer env)"`.

    This is the one command that prints a secret. A stack that is reached through a tunnel gets the address that
    `deployer tunnel` opens. One that speaks TLS with a certificate of its own also gets SSL_CERT_FILE,
    CURL_CA_BUNDLE and NODE_EXTRA_CA_CERTS, which name files that hold it.
    """
    from deployer.access.trust import write_trust
    from deployer.targets.reach import reach

    settings = make_settings(region, profile)
    with open_view(as_json=as_json) as view:
        way = reach(chosen_stack(settings, view, stack), settings)
        url = way.url or f"{way.scheme}://127.0.0.1:{port or way.port}/v1"
        trust = write_trust(settings.home / "certificates", way.stack, way.certificate) if way.certificate else {}
        view.show(Event("env", {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": way.api_key, **trust}))
