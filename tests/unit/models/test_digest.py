"""A digest that is written down and taken up again ends as hashlib's does."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deployer.models import digest


@given(st.binary(max_size=700), st.lists(st.integers(0, 700), max_size=5))
def test_taken_up_at_any_byte(data: bytes, cuts: list[int]) -> None:
    current, at = digest.new(), 0
    for cut in sorted(min(cut, len(data)) for cut in cuts):
        current.update(bytearray(data[at:cut]))
        at = cut
        again = digest.continued(current.state())
        if again is None:
            pytest.skip("this Python's OpenSSL does not let its state be read")
        current = again
    current.update(bytearray(data[at:]))
    assert current.hexdigest() == hashlib.sha256(data).hexdigest()


def test_a_length_beyond_32_bits_of_bits() -> None:
    """2^29 bytes are 2^32 bits: the counter's second word counts."""
    block = bytearray(1 << 24)
    current, reference = digest.new(), hashlib.sha256()
    for _ in range(33):
        current.update(block)
        reference.update(block)
    again = digest.continued(current.state()) or current
    again.update(block)
    reference.update(block)
    assert again.hexdigest() == reference.hexdigest()


@pytest.mark.parametrize("state", [None, "", "1:2", "64:zz:", "-64:" + "0" * 64 + ":", "65:" + "0" * 64 + ":"])
def test_what_is_no_state_is_not_continued(state: str | None) -> None:
    assert digest.continued(state) is None


def test_without_the_library_hashlib_does_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(digest, "_library", lambda: None)
    plain = digest.new()
    plain.update(bytearray(b"abc"))
    assert plain.hexdigest() == hashlib.sha256(b"abc").hexdigest()
    assert plain.state() is None
    assert digest.continued("64:" + "0" * 64 + ":") is None
