"""Inputs are checked against their whole JSON Schema, with defaults filled in and nothing fetched."""

from __future__ import annotations

import copy
import itertools
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from strands_cli.secrets.redactor import Redactor
from strands_cli.tools.schema.schemas import MAX_MESSAGE, SchemaFaultError, first_problem, prepared, require_schema
from strands_cli.tools.schema.validators import fits_at_first_sight
from tests.fakes.model_server import ModelServer
from tests.wordings import Wording

# Many made-up values take seconds.
pytestmark = pytest.mark.hostile


def of(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


@pytest.mark.parametrize(
    ("schema", "given_", "expected"),
    [
        (of(n={"default": 3}), {}, {"n": 3}),
        (of(n={"default": 3}), {"n": 4}, {"n": 4}),
        (of(n={"default": False}), {}, {"n": False}),
        (of(at=of(n={"default": 1})), {"at": {}}, {"at": {"n": 1}}),
        (of(at=of(n={"default": 1})), {}, {}),
        (of(l={"type": "array", "items": of(n={"default": 1})}), {"l": [{}, {"n": 2}]}, {"l": [{"n": 1}, {"n": 2}]}),
        ({**of(at={"$ref": "#/$defs/At"}), "$defs": {"At": of(n={"default": 1})}}, {"at": {}}, {"at": {"n": 1}}),
        (of(n={"type": "string", "default": None}), {}, {}),
        (of(n={"type": "string"}), {"n": None}, {}),
        (of(n={"type": ["string", "null"]}), {"n": None}, {"n": None}),
        (of(n={}), {"n": None}, {"n": None}),
        ({**of(n={"type": "string"}), "required": ["n"]}, {"n": None}, {"n": None}),
        (of(), {"unknown": None, "other": 1}, {"unknown": None, "other": 1}),
        (of(), [1], [1]),
        (of(), "text", "text"),
        ({**of(at={"$ref": "#"}), "x": 1}, {"at": {"at": {}}}, {"at": {"at": {}}}),
        ({**of(at={"$ref": "#/$defs/A"}), "$defs": {"A": {"$ref": "#/$defs/A"}}}, {"at": {}}, {"at": {}}),
    ],
)
def test_defaults_are_filled_in_and_needless_nulls_left_out(schema: Any, given_: Any, expected: Any) -> None:
    before = copy.deepcopy((schema, given_))
    assert prepared(schema, given_) == expected
    assert (schema, given_) == before


def test_a_default_is_a_copy() -> None:
    schema = of(tags={"type": "array", "default": []})
    prepared(schema, {})["tags"].append(1)
    assert prepared(schema, {}) == {"tags": []}


TEXT, NUMBER = {"type": "string"}, {"type": "integer"}
KEYWORDS: list[tuple[dict[str, Any], Any, Any]] = [
    ({"type": "string"}, "a", 1),
    ({"enum": ["a"]}, "a", "b"),
    ({"const": 1}, 1, 2),
    ({"multipleOf": 2}, 4, 5),
    ({"maximum": 2}, 2, 3),
    ({"exclusiveMaximum": 2}, 1, 2),
    ({"minimum": 2}, 2, 1),
    ({"exclusiveMinimum": 2}, 3, 2),
    ({"maxLength": 1}, "a", "ab"),
    ({"minLength": 1}, "a", ""),
    ({"pattern": "^a"}, "ab", "b"),
    ({"maxItems": 1}, [1], [1, 2]),
    ({"minItems": 1}, [1], []),
    ({"uniqueItems": True}, [1, 2], [1, 1]),
    ({"items": TEXT}, ["a"], [1]),
    ({"prefixItems": [TEXT], "items": False}, ["a"], ["a", 1]),
    ({"contains": NUMBER, "minContains": 2}, [1, 2], [1, "a"]),
    ({"contains": NUMBER, "maxContains": 1}, [1], [1, 2]),
    ({"unevaluatedItems": False, "prefixItems": [TEXT]}, ["a"], ["a", 1]),
    ({"maxProperties": 1}, {"a": 1}, {"a": 1, "b": 2}),
    ({"minProperties": 1}, {"a": 1}, {}),
    ({"required": ["a"]}, {"a": 1}, {}),
    ({"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 1}, {"a": 1}),
    ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"b": 1}, {"a": 1}),
    ({"properties": {"a": TEXT}}, {"a": "x"}, {"a": 1}),
    ({"patternProperties": {"^a": TEXT}}, {"ab": "x"}, {"ab": 1}),
    ({"additionalProperties": False, "properties": {"a": {}}}, {"a": 1}, {"b": 1}),
    ({"unevaluatedProperties": False, "allOf": [{"properties": {"a": {}}}]}, {"a": 1}, {"b": 1}),
    ({"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
    ({"allOf": [TEXT, {"maxLength": 1}]}, "a", "ab"),
    ({"anyOf": [TEXT, NUMBER]}, 1, []),
    ({"oneOf": [{"minimum": 1}, {"maximum": 2}]}, 0, 1.5),
    ({"not": TEXT}, 1, "a"),
    ({"if": TEXT, "then": {"maxLength": 1}, "else": NUMBER}, "a", "ab"),
    ({"if": TEXT, "then": {"maxLength": 1}, "else": NUMBER}, 1, []),
    ({"$ref": "#/$defs/n", "$defs": {"n": NUMBER}}, 1, "a"),
    ({"$ref": "#n", "$defs": {"n": {"$anchor": "n", **NUMBER}}}, 1, "a"),
    ({"$schema": "http://json-schema.org/draft-04/schema#", "minimum": 1, "exclusiveMinimum": True}, 2, 1),
    ({"$schema": "http://json-schema.org/draft-07/schema#", "items": [TEXT], "additionalItems": False}, ["a"], [1]),
]


@pytest.mark.parametrize(("keyword", "good", "bad"), KEYWORDS, ids=[str(list(k[0])) for k in KEYWORDS])
def test_a_keyword_counts(keyword: dict[str, Any], good: Any, bad: Any) -> None:
    head = {word: keyword[word] for word in ("$schema", "$defs") if word in keyword}
    schema = {**head, **of(x={word: value for word, value in keyword.items() if word not in head})}
    require_schema(schema)
    assert first_problem(schema, {"x": good}) is None
    problem = first_problem(schema, {"x": bad})
    assert problem is not None
    assert problem.startswith("x")


def test_the_problem_has_its_place_and_a_bounded_length() -> None:
    schema = of(a={"type": "array", "items": of(b=NUMBER)})
    assert first_problem(schema, {"a": [{"b": 1}, {"b": "x"}]}) == "a[1].b: 'x' is not of type 'integer'"
    long = first_problem(of(a=NUMBER), {"a": "x" * 10_000})
    assert long is not None
    assert len(long) <= MAX_MESSAGE + 3


def test_the_nearest_of_several_alternatives_is_named() -> None:
    schema = of(a={"anyOf": [TEXT, {"type": "object", "required": ["path"]}]})
    assert first_problem(schema, {"a": {}}) == "a: 'path' is a required property"


def test_a_schema_elsewhere_is_never_requested() -> None:
    with ModelServer() as server:
        schema = of(x={"$ref": f"{server.url}/schema.json"})
        with pytest.raises(SchemaFaultError, match="Unresolvable"):
            require_schema(schema)
        with pytest.raises(SchemaFaultError):
            first_problem(schema, {"x": 1})
        assert server.requests == []


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objct"},
        {"properties": 1},
        {"pattern": "("},
        {"$ref": "#/nowhere"},
        {"type": {1, 2}},
        {"minLength": -1},
    ],
)
def test_what_is_not_a_schema_is_reported(schema: dict[str, Any]) -> None:
    with pytest.raises(SchemaFaultError):
        require_schema(of(x=schema))


def test_references_in_values_and_in_parts_with_their_own_address_are_let_be() -> None:
    require_schema(of(x={"const": {"$ref": "nowhere"}, "default": {"$ref": "nowhere"}}))
    require_schema({**of(x={"$id": "http://example.org/x", "$defs": {"n": {}}, "$ref": "#/$defs/n"})})


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from("abc"), JSON), st.dictionaries(st.sampled_from("abc"), JSON))
def test_preparing_twice_is_preparing_once(defaults: dict[str, Any], arguments: dict[str, Any]) -> None:
    schema = of(**{name: {"default": value} for name, value in defaults.items()})
    once = prepared(schema, arguments)
    assert prepared(schema, once) == once
    assert {name: once[name] for name in arguments} == arguments


# -- hostile schemas and values

LAUGHS: dict[str, Any] = {
    "$ref": "#/$defs/n0",
    "$defs": {
        **{f"n{level}": {"allOf": [{"$ref": f"#/$defs/n{level + 1}"}] * 2} for level in range(30)},
        "n30": {"type": "object"},
    },
}


def deep(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


def circle() -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"a": schema}
    return schema


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"allOf": [{"$ref": "#"}]},
        of(x={"$ref": "#/$defs/A"}) | {"$defs": {"A": {"allOf": [{"$ref": "#/$defs/A"}]}}},
        of(x={"$ref": "#/$defs/A"}) | {"$defs": {"A": {"not": {"$ref": "#/$defs/A"}}}},
        LAUGHS,
        LAUGHS | {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$defs": {"d": {"$schema": "http://json-schema.org/draft-07/schema#", **LAUGHS}}, "$ref": "#/$defs/d"},
        deep(40),
        deep(5_000),
        circle(),
        of(x={"description": "x" * 300_000}),
        {"patternProperties": {"^(a|a)*$": {}}, "unevaluatedProperties": False},
        of(x={"pattern": "(?=" + "a" * 2_000}),
    ],
    ids=range(13),
)
def test_a_hostile_schema_is_refused_when_it_is_loaded(schema: Any, wording: Wording) -> None:
    with pytest.raises(SchemaFaultError) as raised:
        require_schema(schema)
    wording(raised.value)


@pytest.mark.parametrize("levels", [1, 20])
@pytest.mark.parametrize("word", ["not", "if"])
def test_an_endless_schema_is_refused_at_any_depth_of_calls(word: str, levels: int) -> None:
    """`rpds` makes a panic, which is not an `Exception`, of a `RecursionError` within a look-up."""
    schema: dict[str, Any] = {"$ref": "#"}
    for _ in range(levels):
        schema = {word: schema}

    def below(calls: int) -> None:
        if calls:
            below(calls - 1)
            return
        with pytest.raises(SchemaFaultError):
            require_schema(schema)
        with pytest.raises(SchemaFaultError):
            first_problem(schema, {})

    for calls in range(3 * levels + 3):
        below(calls)


def test_a_schema_that_multiplies_by_its_value_stops_after_so_many_steps() -> None:
    schema = {"items": {"allOf": [{"$ref": "#"}, {"$ref": "#"}]}}
    require_schema(schema)
    value: Any = []
    for _ in range(40):
        value = [value]
    with pytest.raises(SchemaFaultError, match=r"\b50,000\b"):
        first_problem(schema, value)


SLOW = "a" * 5_000 + "!"


@pytest.mark.parametrize(
    "schema",
    [
        of(x={"pattern": "^(a|a)*$"}),
        of(x={"pattern": "^(a+)+$"}),
        of(x={"propertyNames": {"pattern": "^(a|a)*$"}}),
        of(x={"patternProperties": {"^(a|a)*$": {"type": "string"}}, "additionalProperties": False}),
    ],
)
def test_no_pattern_takes_exponential_time(schema: Any) -> None:
    require_schema(schema)
    place = schema["properties"]["x"]
    value = SLOW if "pattern" in place else {SLOW: 1}
    assert first_problem(schema, {"x": value}) is not None


def test_a_pattern_that_only_python_can_search_has_a_limited_time(
    monkeypatch: pytest.MonkeyPatch, wording: Wording
) -> None:
    monkeypatch.setattr("strands_cli.workflow.templates.regular_expressions.SECONDS", 2.0)
    schema = of(x={"pattern": r"^(?=a)(a|a)*$"})
    require_schema(schema)
    assert first_problem(schema, {"x": "aa"}) is None
    with pytest.raises(SchemaFaultError) as raised:
        first_problem(schema, {"x": SLOW})
    wording(raised.value)


@pytest.mark.parametrize(
    ("names", "allowed", "bad"),
    [
        ({"properties": {"a": {}}, "patternProperties": {"^x-": {}}}, {"a": 1, "x-b": 2}, {"y": 1}),
        ({"patternProperties": {"^x-": NUMBER}}, {"x-b": 2}, {"x-b": "2"}),
        ({"patternProperties": {"^x-": {}}, "additionalProperties": NUMBER}, {"x-b": "", "c": 1}, {"c": ""}),
        ({"patternProperties": {"(?=x)": NUMBER}}, {"x": 2}, {"x": ""}),
        ({"patternProperties": {"x--y": {}}}, {"x--y": 2}, {"x": ""}),
    ],
)
def test_names_are_checked_against_patterns(names: dict[str, Any], allowed: Any, bad: Any) -> None:
    schema = {"additionalProperties": False, **names}
    require_schema(schema)
    assert first_problem(schema, allowed) is None
    assert first_problem(schema, bad) is not None


def test_a_secret_is_out_of_the_problem_before_that_is_cut() -> None:
    secret = "sk-0123456789abcdef"
    problem = first_problem(of(x=NUMBER), {"x": "." * (MAX_MESSAGE - 12) + secret}, Redactor([secret]))
    assert problem is not None
    assert secret[:6] not in problem


KINDS: list[Any] = ["string", "integer", "number", "boolean", "null", ["string", "null"], None]
RULES: list[dict[str, Any]] = [
    {},
    {"description": "d", "default": 1},
    {"enum": ["a", 1]},
    {"const": 2},
    *({word: bound} for word in ("minLength", "maxLength") for bound in (0, 2)),
    *({word: bound} for word in ("minimum", "maximum") for bound in (0, 1, 1.5)),
    {"minLength": 1, "maximum": 1, "pattern": "^a"},
]
VALUES = [None, True, False, -1, 0, 1, 2, 1.0, 1.5, 2.5, "", "a", "abc", [1], {}]


def test_the_short_way_for_plain_properties_agrees_with_the_library() -> None:
    short = 0
    for kind, rule in itertools.product(KINDS, RULES):
        part = {**({"type": kind} if kind else {}), **rule}
        library = jsonschema.Draft202012Validator(part)
        for value in VALUES:
            fits = library.is_valid(value)
            assert (first_problem(of(x=part), {"x": value}) is None) is fits, (part, value)
            assert fits or not fits_at_first_sight(part, value), (part, value)
            short += fits_at_first_sight(part, value)
    assert short > 100
