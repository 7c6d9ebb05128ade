"""A push that was killed goes on: nothing that arrived is read or sent again, and the digest still holds."""

from __future__ import annotations

import json
import shutil
import signal
from collections import deque
from collections.abc import Callable

import pytest

from deployer.models import digest
from deployer.models.source import SourceError
from tests.support.waiting import until

_SLOW = 12 << 20

needs_state = pytest.mark.skipif(digest.new().state() is None, reason="this Python's OpenSSL keeps its state to itself")


class _Killed(BaseException):
    """Ends a push at an event as kill -9 would: no handler of the product's sees it."""


@needs_state
@pytest.mark.parametrize(("workers", "arrived"), [pytest.param(1, 2, marks=pytest.mark.deep), (4, 2)])
def test_kill_9_in_the_middle(desk, workers: int, arrived: int) -> None:
    size = desk.served.stat().st_size
    desk.be(bytes_per_second=_SLOW / workers)
    process = desk.start("--parallel", str(workers), "--json")
    until(lambda: len(desk.parts()) >= arrived, "parts arrive", seconds=30)
    process.kill()
    process.communicate(timeout=30)
    until(_settled(desk), "the hub notices")
    first_run, there = desk.hub.bytes_served, desk.parts()

    desk.be()
    again = desk.start("--parallel", str(workers), "--json")
    out, err = again.communicate(timeout=60)
    assert again.returncode == 0, err
    done = json.loads(out.splitlines()[-1])
    assert done["sha256"] == desk.digest
    assert desk.content() == desk.served.read_bytes()
    assert done["read_bytes"] == size - len(there) * desk.part, "exactly what S3 did not have"
    twice = first_run + done["read_bytes"] - size
    # What was under way when the process died; and the header, which is read by itself, and what lay in socket buffers.
    assert twice <= workers * desk.part + (2 << 20)
    assert desk.uploads() == desk.notes() == []


def _settled(desk) -> Callable[[], bool]:
    """The hub has sent nothing for a dozen looks: its connections have noticed the death."""
    seen = deque([-1], maxlen=12)

    def look() -> bool:
        seen.append(desk.hub.bytes_served)
        return len(seen) == seen.maxlen and len(set(seen)) == 1

    return look


@pytest.mark.deep
def test_ctrl_c_says_what_is_kept_and_how_to_go_on(desk) -> None:
    desk.be(bytes_per_second=_SLOW)
    process = desk.start("--parallel", "1")
    until(lambda: len(desk.parts()) >= 1, "a part arrives", seconds=30)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "kept in an unfinished upload" in err
    assert "the same command goes on" in err
    assert f"--upload-id {desk.uploads()[0]}" in err
    desk.be()
    there = desk.parts()
    done = desk.push()
    assert desk.event("push.start").fields["there_bytes"] in (0, len(there) * desk.part)
    assert done["sha256"] == desk.digest
    assert desk.uploads() == []


@needs_state
def test_killed_when_every_byte_had_arrived(desk) -> None:
    """The last part's end is not at a block of the digest."""
    _push_until(desk, "push.verified")
    assert len(desk.parts()) == 6
    done = desk.push()
    assert (done["read_bytes"], done["sha256"]) == (0, desk.digest)
    assert desk.content() == desk.served.read_bytes()


@needs_state
def test_killed_between_the_object_and_its_tag(desk, tmp_path) -> None:
    kept = tmp_path / "kept"

    def keep(event) -> None:
        if event.name == "push.verified":
            shutil.copytree(desk.home / "pushes", kept)

    desk.push(on_event=keep)
    desk.s3.delete_object_tagging(Bucket=desk.bucket, Key=desk.key)
    shutil.copytree(kept, desk.home / "pushes", dirs_exist_ok=True)
    again = desk.push()
    assert (again["changed"], again["sha256"]) == (False, desk.digest)
    assert desk.s3.get_object_tagging(Bucket=desk.bucket, Key=desk.key)["TagSet"][0]["Value"] == desk.digest
    assert desk.notes() == []


def test_without_the_kept_state_the_source_is_read_again_but_nothing_sent_twice(desk) -> None:
    _push_until(desk, "push.verified")
    note = desk.notes()[0]
    note.write_text(json.dumps(json.loads(note.read_text()) | {"state": None}))
    done = desk.push()
    assert "read again" in desk.event("push.start").fields["why"]
    assert done["read_bytes"] == desk.served.stat().st_size
    assert done["sent_bytes"] == 0
    assert done["sha256"] == desk.digest


def test_a_source_that_changed_starts_over(desk) -> None:
    _push_until(desk, "push.verified")
    before = desk.uploads()
    note = desk.notes()[0]
    fields = json.loads(note.read_text())
    note.write_text(json.dumps(fields | {"fingerprint": fields["fingerprint"] | {"tag": '"older"'}}))
    done = desk.push()
    assert "changed since" in desk.event("push.start").fields["why"]
    assert done["read_bytes"] == done["sent_bytes"] == desk.served.stat().st_size
    assert before[0] not in desk.uploads()
    assert desk.uploads() == []


@needs_state
def test_other_bytes_than_before_leave_nothing(desk) -> None:
    """The source says it is the same, yet a part that was hashed and did not arrive is another one now."""
    _push_until(desk, "push.verified")
    note = desk.notes()[0]
    fields = json.loads(note.read_text())
    fields["digests"][2] = "0" * 64
    note.write_text(json.dumps(fields | {"state": None}))
    with pytest.raises(SourceError, match=r"gave other bytes for part 3 than before; .*nothing is left"):
        desk.push()
    assert desk.uploads() == desk.notes() == []


@pytest.mark.deep
def test_a_note_that_cannot_be_read_costs_a_new_upload_only(desk) -> None:
    _push_until(desk, "push.verified")
    desk.notes()[0].write_text("{")
    assert desk.push()["sha256"] == desk.digest


def test_an_upload_that_somebody_deleted_starts_over(desk) -> None:
    _push_until(desk, "push.verified")
    desk.s3.abort_multipart_upload(Bucket=desk.bucket, Key=desk.key, UploadId=desk.uploads()[0])
    done = desk.push()
    assert done["sent_bytes"] == desk.served.stat().st_size
    assert desk.uploads() == []


def test_a_hub_that_cuts_every_connection_once(desk) -> None:
    desk.be(cut_after_bytes=2 << 20, cuts=5)
    done = desk.push()
    assert desk.hub.tally.cuts == 5
    assert done["sha256"] == desk.digest


def test_a_hub_that_dies_leaves_a_resumable_upload(desk) -> None:
    def cut(event) -> None:
        if event.name == "push.start":
            desk.be(cut_after_bytes=0)

    with pytest.raises(SourceError, match="gave no byte in 6 tries") as refused:
        desk.push(on_event=cut)
    assert "the same command goes on" in str(refused.value.hint)
    assert len(desk.uploads()) == 1
    desk.be()
    assert desk.push()["changed"] is True
    assert desk.uploads() == []


def _push_until(desk, name: str) -> None:
    def end(event) -> None:
        if event.name == name:
            raise _Killed

    with pytest.raises(_Killed):
        desk.push(on_event=end)
