"""One AWS request as the rules see it, its reply, and error bodies in each of AWS's protocols."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal
from urllib.parse import parse_qsl, urlencode
from xml.sax.saxutils import escape

Protocol = Literal["ec2", "query", "json", "rest"]
_FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Call:
    """One request. form: the flat query parameters of EC2 and query services. document: the JSON body of others.

    access_key: who signed. environ: the WSGI environ without its input.
    """

    service: str
    operation: str
    region: str
    protocol: Protocol
    access_key: str
    body: bytes
    form: Mapping[str, str]
    document: Mapping[str, Any]
    environ: Mapping[str, Any] = field(repr=False, default_factory=dict)

    def is_(self, service: str, *operations: str) -> bool:
        """Whether this is one of the service's operations."""
        return self.service == service and self.operation in operations

    def listed(self, name: str) -> list[str]:
        """The values of `Name.1`, `Name.2`, ... in order."""
        values: list[str] = []
        while (value := self.form.get(f"{name}.{len(values) + 1}")) is not None:
            values.append(value)
        return values

    def with_form(self, **changes: str) -> Call:
        """The same call with some query parameters changed (double underscore stands for a dot)."""
        form = dict(self.form) | {key.replace("__", "."): value for key, value in changes.items()}
        return replace(self, form=form, body=urlencode(form).encode())


@dataclass(frozen=True)
class Reply:
    """An HTTP answer. code: AWS's error code when it is an error of ours or one we could read."""

    status: int
    content_type: str
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()
    code: str | None = None


Proceed = Callable[[Call], Reply]
Rule = Callable[[Call, Proceed], Reply]


class Refusal(Exception):
    """An AWS error to answer with instead of doing the work."""

    def __init__(self, code: str, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class DropConnection(Exception):
    """The answer never leaves: the server closes the connection without a byte."""


def credential_scope(environ: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """(access key, region, service) of a SigV4 request, signed in its header or its query; None when unsigned."""
    header = str(environ.get("HTTP_AUTHORIZATION", ""))
    if "Credential=" in header:
        scope = header.partition("Credential=")[2].partition(",")[0].split()[0]
    else:
        scope = dict(parse_qsl(str(environ.get("QUERY_STRING", "")))).get("X-Amz-Credential", "")
    parts = scope.split("/")
    return (parts[0], parts[2], parts[3].lower()) if len(parts) == 5 else None


def parse(environ: Mapping[str, Any], body: bytes) -> Call | None:
    """The call in a request, or None when nothing says which AWS service it is for."""
    scope = credential_scope(environ)
    if scope is None:
        return None
    access_key, region, service = scope
    form: dict[str, str] = {}
    document: dict[str, Any] = {}
    protocol: Protocol
    target = str(environ.get("HTTP_X_AMZ_TARGET", ""))
    if target:
        protocol, operation = "json", target.rpartition(".")[2]
        try:
            parsed = json.loads(body or b"{}")
        except ValueError:
            parsed = {}
        document = parsed if isinstance(parsed, dict) else {}
    else:
        query = str(environ.get("QUERY_STRING", ""))
        if str(environ.get("CONTENT_TYPE", "")).startswith(_FORM):
            query = body.decode("utf-8", "replace")
        form = dict(parse_qsl(query, keep_blank_values=True))
        if "Action" in form:
            protocol, operation = ("ec2" if service == "ec2" else "query"), form["Action"]
        else:
            protocol, operation = "rest", f"{environ.get('REQUEST_METHOD')} {environ.get('PATH_INFO')}"
    return Call(service, operation, region, protocol, access_key, body, form, document, dict(environ))


def error_reply(call: Call, refusal: Refusal) -> Reply:
    """The refusal in the call's protocol, as botocore parses it."""
    request = str(uuid.uuid4())
    code, message = refusal.code, refusal.message
    if call.protocol in ("json", "rest"):
        text = json.dumps({"__type": code, "message": message})
        kind = "application/x-amz-json-1.1"
    elif call.protocol == "ec2":
        text = (
            f"<Response><Errors><Error><Code>{escape(code)}</Code><Message>{escape(message)}</Message></Error></Errors>"
            f"<RequestID>{request}</RequestID></Response>"
        )
        kind = "text/xml"
    else:
        text = (
            f"<ErrorResponse><Error><Type>Sender</Type><Code>{escape(code)}</Code><Message>{escape(message)}</Message>"
            f"</Error><RequestId>{request}</RequestId></ErrorResponse>"
        )
        kind = "text/xml"
    return Reply(refusal.status, kind, text.encode(), (("x-amzn-RequestId", request),), code)


def compose(rules: tuple[Rule, ...], last: Proceed) -> Proceed:
    """One function out of the rules, the first one outermost, with `last` doing the work."""
    proceed = last
    for rule in reversed(rules):
        proceed = _around(rule, proceed)
    return proceed


def _around(rule: Rule, inner: Proceed) -> Proceed:
    return lambda call: rule(call, inner)
