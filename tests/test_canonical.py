from __future__ import annotations

from types import MappingProxyType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_cli.texts.canonical_json import canonical_json, digest_of

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=10,
)


@settings(deadline=None)
@given(values, values)
def test_equal_json_has_equal_digests_and_unequal_json_has_not(one: object, other: object) -> None:
    assert (digest_of(one) == digest_of(other)) == (canonical_json(one) == canonical_json(other))


@settings(deadline=None)
@given(st.dictionaries(st.text(), values, max_size=5))
def test_the_order_of_keys_does_not_matter(value: dict[str, object]) -> None:
    assert digest_of(dict(reversed(value.items()))) == digest_of(value) == digest_of(MappingProxyType(value))


def test_digests_are_compatibility_data() -> None:
    assert canonical_json({"b": [1, 2.5, None, True], "a": "é\n"}) == '{"a":"é\\n","b":[1,2.5,null,true]}'
    assert digest_of({"a": 1}) == "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862"


def test_bytes_are_named_by_their_digest_and_sets_are_sorted() -> None:
    sha256_of_x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert canonical_json([b"x", {"b", "a"}]) == f'[{{"sha256":"{sha256_of_x}"}},["a","b"]]'


def test_half_a_surrogate_pair_has_a_digest() -> None:
    assert digest_of("\ud83d") != digest_of("?")


def test_what_json_cannot_hold_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^object\b"):
        digest_of(object())
