"""Bodies are decompressed step by step up to a limit."""

from __future__ import annotations

import tracemalloc
import zlib

import pytest

from strands_tool_kit.http.body import Body, EncodingError

WAYS = [("gzip", 31), ("x-gzip", 31), ("deflate", 15), ("deflate", -15)]


def packed(content: bytes, way: int) -> bytes:
    packer = zlib.compressobj(wbits=way)
    return packer.compress(content) + packer.flush()


@pytest.mark.parametrize(("encoding", "way"), WAYS)
def test_a_bomb_never_unfolds_in_memory(encoding: str, way: int) -> None:
    folded = packed(b"\0" * 12_000_000, way)
    body = Body(encoding, 100_000)
    tracemalloc.start()
    try:
        assert not body.add(folded)
        assert tracemalloc.get_traced_memory()[1] < 3_000_000
    finally:
        tracemalloc.stop()
    assert len(body.content) == 100_000
    assert body.is_cut


@pytest.mark.parametrize(("encoding", "way"), WAYS)
def test_a_body_is_whole_however_it_is_divided(encoding: str, way: int) -> None:
    content = b"one two three " * 50
    folded = packed(content, way)
    for size in (1, 7, len(folded)):
        body = Body(encoding, 10_000)
        assert all(body.add(folded[at : at + size]) for at in range(0, len(folded), size))
        assert (body.content, body.is_cut, body.is_whole) == (content, False, True)


def test_a_plain_body_ends_at_its_limit() -> None:
    body = Body("identity", 4)
    assert body.add(b"1234")
    assert not body.add(b"5")
    assert (body.content, body.is_cut) == (b"1234", True)


@pytest.mark.parametrize("encoding", ["gzip, gzip", "gzip,deflate", "br", "zstd", "nonsense", "gzip;q=1"])
def test_other_encodings_and_several_layers_are_refused(encoding: str) -> None:
    with pytest.raises(EncodingError) as caught:
        Body(encoding, 100)
    assert not caught.value.is_damaged


def test_a_damaged_body_says_so() -> None:
    with pytest.raises(EncodingError) as caught:
        Body("gzip", 100).add(b"not gzip at all")
    assert caught.value.is_damaged


def test_a_body_that_ends_early_is_not_whole() -> None:
    body = Body("gzip", 10_000)
    assert body.add(packed(b"one two three", 31)[:-6])
    assert not body.is_whole
