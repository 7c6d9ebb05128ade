"""The control API, the network guard and the secret search."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

import pytest

SECRET = "sk-planted-0123456789abcdef"


@pytest.fixture
def ask(cloud):
    def request(path: str, document: object = None) -> dict:
        body = None if document is None else json.dumps(document).encode()
        with urllib.request.urlopen(f"{cloud.url}/_sandbox/{path}", body, timeout=10) as answer:
            return json.load(answer)

    return request


def test_calls_are_listed_in_order(boto, ask, refused):
    boto("sts").get_caller_identity()
    refused(boto("ssm").get_parameter, Name="/none")
    found = ask("calls")
    assert found["count"] == 2
    assert [(c["service"], c["operation"], c["status"], c["code"], c["caller"]) for c in found["calls"]] == [
        ("sts", "GetCallerIdentity", 200, None, "operator"),
        ("ssm", "GetParameter", 400, "ParameterNotFound", "operator"),
    ]
    assert [c["operation"] for c in ask("calls?since=1")["calls"]] == ["GetParameter"]


def test_the_account_is_the_clouds_own(cloud, boto, ask):
    assert boto("sts").get_caller_identity()["Account"] == cloud.world.account == ask("info")["account"]
    assert boto("sts").get_caller_identity()["Arn"].startswith("arn:aws-cn:")


def test_options_change_at_once_and_mistakes_are_named(cloud, ask):
    assert ask("options", {"call_seconds": 0.01})["options"]["call_seconds"] == 0.01
    assert cloud.world.options.call_seconds == 0.01
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask("options", {"cal_seconds": 1})
    assert "cal_seconds" in json.load(caught.value)["error"]
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask("nothing")


def test_the_guard_lets_nothing_out_and_remembers(cloud, ask):
    guard = urllib.parse.urlsplit(cloud.env()["HTTPS_PROXY"])
    tunnel = http.client.HTTPConnection(guard.hostname, guard.port, timeout=10)
    tunnel.set_tunnel("s3.cn-northwest-1.api.amazonwebservices.com.cn", 443)
    with pytest.raises(OSError, match="403"):
        tunnel.request("GET", "/")
    plain = http.client.HTTPConnection(guard.hostname, guard.port, timeout=10)
    plain.request("GET", "http://example.org/x")
    assert plain.getresponse().status == 403
    assert [(e["kind"], e["what"]) for e in ask("escapes")["escapes"]] == [
        ("proxy", "CONNECT s3.cn-northwest-1.api.amazonwebservices.com.cn:443"),
        ("proxy", "GET http://example.org/x"),
    ]


def test_what_is_not_emulated_is_an_error_and_an_escape(cloud, boto, ask, refused):
    assert refused(boto("pricing").describe_services, ServiceCode="AmazonEC2") == "NotEmulated"
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen(f"{cloud.url}/unsigned", timeout=10)
    kinds = [e["what"].partition(":")[0] for e in ask("escapes")["escapes"]]
    assert kinds == ["pricing DescribeServices", "GET /unsigned"]


def test_a_secret_is_found_wherever_it_slipped_in(ec2, boto, ask):
    places = {
        "tag": {"TagSpecifications": [{"ResourceType": "instance", "Tags": [{"Key": "k", "Value": SECRET}]}]},
        "user data": {"UserData": f"key={SECRET}"},
        "gzip": {"UserData": gzip.compress(f"key: {SECRET}".encode())},
        "nested": {"UserData": gzip.compress(base64.b64encode(gzip.compress(f"{SECRET}{'.' * 40}".encode())))},
    }
    for name, arguments in places.items():
        before = len(ask("search", {"needle": SECRET})["places"])
        ec2.run(**arguments)
        assert len(ask("search", {"needle": SECRET})["places"]) > before, name


def test_the_value_of_a_secure_string_is_where_a_secret_belongs(boto, ask):
    ssm = boto("ssm")
    ssm.put_parameter(Name="/k", Value=SECRET, Type="SecureString")
    ssm.get_parameter(Name="/k", WithDecryption=True)
    ssm.get_parameter(Name="/k")
    assert ask("search", {"needle": SECRET}) == {"places": []}
    ssm.put_parameter(Name="/k", Value=SECRET, Type="SecureString", Overwrite=True, Description=f"is {SECRET}")
    assert ask("search", {"needle": SECRET})["places"] == ["3:ssm:PutParameter:request"]


def test_connections_are_kept(cloud):
    connection = http.client.HTTPConnection("127.0.0.1", int(cloud.url.rpartition(":")[2]), timeout=10)
    connection.request("GET", "/_sandbox/status")
    connection.getresponse().read()
    first = connection.sock
    connection.request("GET", "/_sandbox/status")
    assert connection.getresponse().status == 200
    assert connection.sock is first
