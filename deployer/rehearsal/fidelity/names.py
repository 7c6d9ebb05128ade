"""moto writes ARNs and host names of the global partition in China's answers; here they become the region's own (E15).

Only elements whose name says that they hold an ARN or a host name are touched: a policy, a tag or a parameter that a
person wrote must come back exactly as it was written.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from deployer.rehearsal.fidelity.call import Call, Proceed, Reply
from deployer.rehearsal.fidelity.regional import global_partition, partition_of


def regional_names(call: Call, proceed: Proceed) -> Reply:
    """The rule."""
    reply = proceed(call)
    here = partition_of(call.region)
    elsewhere = global_partition()
    if here.name == elsewhere.name or not reply.body:
        return reply
    arn, host, json_arn, json_host = _patterns()
    body = arn.sub(rf"\1arn:{here.name}:".encode(), reply.body)
    body = host.sub(rf"\1.{here.dns_suffix}<".encode(), body)
    body = json_arn.sub(rf"\1arn:{here.name}:".encode(), body)
    body = json_host.sub(rf"\1.{here.dns_suffix}".encode(), body)
    return replace(reply, body=body)


@cache
def _patterns() -> tuple[re.Pattern[bytes], ...]:
    elsewhere = global_partition()
    name, suffix = re.escape(elsewhere.name), re.escape(elsewhere.dns_suffix)
    return (
        re.compile(rf"(<\w*(?:Arn|arn|ARN)>)arn:{name}:".encode()),
        re.compile(rf"(<\w*(?:dnsName|DnsName|DNSName|endpoint|Endpoint)>[^<]*)\.{suffix}<".encode()),
        re.compile(rf'("\w*(?:Arn|arn|ARN)":\s*")arn:{name}:'.encode()),
        # ECR's registries.
        re.compile(rf'("(?:repositoryUri|proxyEndpoint)":\s*"[^"]*)\.{suffix}(?=["/])'.encode()),
    )
