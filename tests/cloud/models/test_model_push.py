"""`model push` into the embedded AWS's S3: what arrives, what it carries, and what is never left behind."""

from __future__ import annotations

import hashlib
import json

import pytest

from deployer.errors import RefusedError
from deployer.models.source import SourceError

_CATALOGUE_KEY = "qwen/Qwen3.6-27B-Q4_K_M.gguf"


@pytest.mark.deep
def test_a_catalogue_model_arrives_verified_by_the_hubs_listing(desk) -> None:
    done = desk.push("Qwen3.6-27B")
    listed = desk.hub.file("unsloth/Qwen3.6-27B-MTP-GGUF", "Qwen3.6-27B-Q4_K_M.gguf")
    assert hashlib.sha256(desk.content(_CATALOGUE_KEY)).hexdigest() == listed.digest == done["sha256"]
    assert done["changed"] is True
    assert done["verified_by"] == "the hub's listing"
    assert done["read_bytes"] == done["sent_bytes"] == listed.size
    found = desk.s3.get_object(Bucket=desk.bucket, Key=_CATALOGUE_KEY)["Metadata"]
    assert found["sha256"] == listed.digest
    assert found["source"] == "modelscope://unsloth/Qwen3.6-27B-MTP-GGUF/Qwen3.6-27B-Q4_K_M.gguf"
    assert (found["revision"], found["mtp-head"]) == ("master", "yes")
    assert desk.event("push.model").fields["mtp_head"] is True
    assert desk.event("push.start").fields["parts"] == 6
    assert [event.fields["percent"] for event in desk.events if event.name == "push.progress"][-1] == 100
    assert desk.uploads() == desk.notes() == []


def test_a_second_push_has_nothing_to_do(desk) -> None:
    desk.push("Qwen3.6-27B")
    before = desk.hub.bytes_served
    again = desk.push("Qwen3.6-27B")
    assert again["changed"] is False
    assert again["sha256"] == desk.s3.get_object(Bucket=desk.bucket, Key=_CATALOGUE_KEY)["Metadata"]["sha256"]
    assert desk.hub.bytes_served - before < 4 << 20, "the header, no more"


def test_a_digest_that_nobody_knew_becomes_a_tag(desk) -> None:
    done = desk.push()
    assert done["sha256"] == desk.digest
    assert done["verified_by"] is None
    tags = desk.s3.get_object_tagging(Bucket=desk.bucket, Key=desk.key)["TagSet"]
    assert tags == [{"Key": "deployer:sha256", "Value": desk.digest}]
    assert desk.push()["changed"] is False
    assert desk.push(sha256=desk.digest)["changed"] is False


def test_a_local_file(desk) -> None:
    done = desk.push(str(desk.served), to=f"{desk.to}/renamed.gguf")
    assert desk.content("qwen/renamed.gguf") == desk.served.read_bytes()
    assert done["sha256"] == desk.digest


@pytest.mark.deep
def test_from_s3_to_s3(desk) -> None:
    desk.push(sha256=desk.digest)
    done = desk.push(f"s3://{desk.bucket}/{desk.key}", to=f"s3://{desk.bucket}/copy")
    assert done["verified_by"] == "the source"
    assert desk.content("copy/model-mtp.gguf") == desk.served.read_bytes()


def test_wrong_bytes_leave_nothing(desk) -> None:
    with pytest.raises(SourceError, match="nothing is left") as refused:
        desk.push(sha256="0" * 64)
    assert refused.value.exit_code == 3
    assert desk.uploads() == desk.notes() == []
    assert "Contents" not in desk.s3.list_objects_v2(Bucket=desk.bucket)


@pytest.mark.deep
def test_a_hub_that_serves_other_bytes_than_it_lists(desk) -> None:
    def spoil(event) -> None:
        if event.name == "push.start":
            desk.be(wrong_bytes=True)

    with pytest.raises(SourceError, match=r"the hub's listing says .*nothing is left"):
        desk.push("Qwen3.6-27B", on_event=spoil)
    assert desk.uploads() == desk.notes() == []


def test_a_pin_against_the_listing_is_refused_before_anything_is_sent(desk) -> None:
    with pytest.raises(SourceError, match="not the file that was meant"):
        desk.push("Qwen3.6-27B", sha256="0" * 64)
    assert desk.uploads() == []


@pytest.mark.deep
def test_another_object_of_that_name_is_kept(desk) -> None:
    desk.s3.put_object(Bucket=desk.bucket, Key=desk.key, Body=b"precious")
    with pytest.raises(RefusedError, match="exists already and holds a file whose sha256 is not known"):
        desk.push()
    assert desk.content() == b"precious"
    assert desk.push(replace=True)["changed"] is True
    assert desk.content() == desk.served.read_bytes()


def test_no_such_bucket(desk) -> None:
    with pytest.raises(RefusedError, match="there is no bucket nowhere"):
        desk.push(to="s3://nowhere")


def test_a_file_without_the_head_that_the_catalogue_promises(desk) -> None:
    """Files with and without MTP have the same name: the header decides, and the difference is said."""
    headless = desk.hub.file("unsloth/Qwen3.6-27B-GGUF", "Qwen3.6-27B-Q4_K_M.gguf").path
    desk.s3.upload_file(str(headless), desk.bucket, "plain/Qwen3.6-27B-Q4_K_M.gguf")
    done = desk.push("Qwen3.6-27B", origin=f"s3://{desk.bucket}/plain")
    assert done["mtp_head"] is False
    assert "has an MTP head, this file has none" in desk.event("warning").fields["message"]


def test_the_command_speaks_json_lines(desk) -> None:
    process = desk.start("--json", "--sha256", desk.digest)
    out, _ = process.communicate(timeout=60)
    lines = [json.loads(line) for line in out.splitlines()]
    assert process.returncode == 0
    assert [line.get("event") for line in lines if line.get("event") != "push.progress"] == [
        "push.model",
        "push.start",
        "push.verified",
        None,
    ]
    assert lines[-1]["spec"].startswith(f"model:\n  source: {desk.to}\n  file: model-mtp.gguf\n  sha256: ")


def test_the_command_speaks_plain_lines_in_a_pipe(desk) -> None:
    process = desk.start()
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "MTP head       yes" in out
    assert "… 100 %" in out
    assert "for a spec:\nmodel:\n" in out
