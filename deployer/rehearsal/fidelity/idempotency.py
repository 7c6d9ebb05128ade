"""ClientToken on RunInstances: the same token and parameters give the same instances, for ever (E1).

The answer to a repeat shows those instances as they are now, terminated ones too: a token never launches twice.
"""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlencode

from deployer.rehearsal.fidelity.call import Call, Proceed, Refusal, Reply

_ITEM = re.compile(rb"<reservationSet>\s*<item>(.*)</item>\s*</reservationSet>", re.DOTALL)
_ID = re.compile(rb"<instanceId>(i-[0-9a-f]+)</instanceId>")
_HEAD = re.compile(rb"<DescribeInstancesResponse[^>]*>")


class IdempotencyRule:
    """Remembers (region, token) -> what was asked and which instances came of it."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, str], tuple[str, list[str]]] = {}

    def __call__(self, call: Call, proceed: Proceed) -> Reply:
        """The rule."""
        token = call.form.get("ClientToken")
        if not call.is_("ec2", "RunInstances") or not token or call.form.get("DryRun") == "true":
            return proceed(call)
        asked = _fingerprint(call)
        known = self._seen.get((call.region, token))
        if known is not None:
            if known[0] != asked:
                raise Refusal(
                    "IdempotentParameterMismatch",
                    "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
                )
            return _as_launch(proceed(_describe(call, known[1])))
        reply = proceed(call)
        if reply.status == 200:
            self._seen[call.region, token] = (asked, [i.decode() for i in dict.fromkeys(_ID.findall(reply.body))])
        return reply


def _fingerprint(call: Call) -> str:
    asked = sorted((key, value) for key, value in call.form.items() if key != "ClientToken")
    return hashlib.sha256(repr(asked).encode()).hexdigest()


def _describe(call: Call, instance_ids: list[str]) -> Call:
    form = {"Action": "DescribeInstances", "Version": call.form.get("Version", "2016-11-15")}
    form |= {f"InstanceId.{n}": instance_id for n, instance_id in enumerate(instance_ids, 1)}
    return Call(
        "ec2",
        "DescribeInstances",
        call.region,
        call.protocol,
        call.access_key,
        urlencode(form).encode(),
        form,
        {},
        call.environ,
    )


def _as_launch(reply: Reply) -> Reply:
    """RunInstances answers with one bare reservation where DescribeInstances has a list of them."""
    if reply.status != 200:
        return reply
    item, head = _ITEM.search(reply.body), _HEAD.search(reply.body)
    if item is None or head is None:
        raise Refusal("InternalError", "the earlier reservation cannot be shown", 500)
    start = head.group().replace(b"DescribeInstancesResponse", b"RunInstancesResponse")
    body = start + b"<requestId>repeat</requestId>" + item.group(1) + b"</RunInstancesResponse>"
    return Reply(reply.status, reply.content_type, body, reply.headers)
