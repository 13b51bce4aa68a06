"""Frames: what is read is what was written, or an error that teaches."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whimbrel.model import Damaged
from whimbrel.state import digest, open_frame, seal_frame


@given(st.text(max_size=12), st.binary(max_size=200))
def test_a_frame_gives_back_what_was_sealed(kind, payload):
    assert open_frame(kind, seal_frame(kind, payload), "here") == payload


@settings(max_examples=300)
@given(st.binary(max_size=64), st.data())
def test_any_flipped_bit_is_found(payload, data):
    frame = bytearray(seal_frame("plan", payload))
    bit = data.draw(st.integers(0, 8 * len(frame) - 1))
    frame[bit // 8] ^= 1 << (bit % 8)
    with pytest.raises(Damaged, match="slot 3"):
        open_frame("plan", bytes(frame), "slot 3")


@given(st.binary(max_size=64), st.integers(0, 80))
def test_a_cut_or_longer_frame_is_refused(payload, cut):
    frame = seal_frame("plan", payload)
    with pytest.raises(Damaged):
        open_frame("plan", frame[: min(cut, len(frame) - 1)], "there")
    with pytest.raises(Damaged):
        open_frame("plan", frame + b"x", "there")


def test_a_foreign_file_and_a_foreign_kind_are_named():
    with pytest.raises(Damaged, match="Whimbrel did not write it"):
        open_frame("plan", b"PAR1" + bytes(64), "f")
    with pytest.raises(Damaged, match="'seal'.*'plan'"):
        open_frame("plan", seal_frame("seal", b""), "f")


def test_random_bytes_are_never_a_frame():
    rng = np.random.default_rng(7)
    for _ in range(200):
        with pytest.raises(Damaged):
            open_frame("plan", rng.bytes(int(rng.integers(0, 200))), "noise")


def test_a_digest_names_content():
    assert digest(b"") == "cae66941d9efbd404e4d88758ea67670"
    assert digest(b"a") != digest(b"b")
