"""The pictures as SVG: well-formed, without styles or ids of their own, whatever names a workflow has."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from strands_cli.events import Usage
from strands_cli_ui.pages.cost_parts import budgets_html, costs_html
from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.page_frame import stylesheet
from strands_cli_ui.pictures.costs import BudgetBar, CostLine, Costs
from strands_cli_ui.pictures.pattern_graph import PatternEdge, PatternGraph, PatternNode
from strands_cli_ui.pictures.svg_layers import layout_of
from strands_cli_ui.pictures.svg_parts import time_span
from strands_cli_ui.pictures.svg_pattern import svg_pattern
from tests.parsed_page import Parsed

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [
    "steps.0",
    "</svg><script>alert(1)</script>",
    "\" onload='x' &amp; \x1b[31m\u202ered\u200b \ufffe \x00 \ud800",
    "lines\nand\ttabs",
    "x" * 100_000,
    "漢字" * 500,
    "",
]


def graph_with(name: str) -> PatternGraph:
    nodes = (
        PatternNode("a", name, "agent", name, "done", name, 2),
        PatternNode("b", name, "gate", "person", "not-begun"),
        PatternNode("c", name, "call", name, "skipped"),
    )
    edges = (PatternEdge("a", "b", name, is_taken=True), PatternEdge("a", "c"), PatternEdge("b", "a", name))
    return PatternGraph("graph", nodes, edges, 1000)


def link(key: str) -> str:
    return f"#{anchor_of(key)}"


def pictures_with(name: str) -> Iterator[str]:
    yield svg_pattern(graph_with(name), link)
    yield svg_pattern(graph_with(name))


def tables_with(name: str) -> str:
    lines = (*([CostLine(name, 2, 1, Usage(10, 5), 0.5, 1, 2.0)] * 30), CostLine(name, 1, seconds=1.0))
    limits = [BudgetBar(name, 1e12, 0.0), BudgetBar("max_cost_usd", 0.9, 1.0, is_lower_bound=True)]
    return costs_html(Costs(lines, lines[-1:], ())) + budgets_html(limits)


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_picture_is_well_formed_and_safe_whatever_the_names_are(name: str) -> None:
    for text in pictures_with(name):
        tree = ElementTree.fromstring(text)
        found = [(element.tag.removeprefix(SVG), element.attrib) for element in tree.iter()]
        assert {tag for tag, _ in found} <= {
            *("div", "svg", "title", "desc", "g", "a", "rect", "path", "polygon", "text")
        }
        attributes = {name for _, given in found for name in given}
        assert attributes.isdisjoint({"style", "id"})
        assert not [one for one in attributes if one.startswith("on")]
        assert all(given["href"].startswith("#e-") for tag, given in found if tag == "a")
        assert len(text) < 30_000


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_table_of_costs_is_sound_whatever_the_names_are(name: str) -> None:
    page = Parsed(tables_with(name))
    assert page.faults == []
    assert [
        part for part in ("unknown", "11 more", "at least $0.9000 of $1.0000 (90 %)") if part not in page.text
    ] == []


def test_each_node_that_has_begun_leads_to_its_effect() -> None:
    (node,) = ElementTree.fromstring(svg_pattern(graph_with("steps.0"), link)).iter(f"{SVG}a")
    assert node.attrib["href"] == f"#{anchor_of('steps.0')}"


def test_a_picture_with_links_is_a_group_since_an_image_hides_what_is_in_it() -> None:
    for text in pictures_with("steps.0"):
        picture = ElementTree.fromstring(text).find(f"{SVG}svg")
        assert picture is not None
        assert (picture.attrib["role"] == "img") == (picture.find(f".//{SVG}a") is None)
        assert picture.attrib["aria-label"]
        assert picture.find(f"{SVG}title") is not None
        assert picture.find(f"{SVG}desc") is not None


def test_each_class_of_a_picture_has_a_style() -> None:
    known = set(re.findall(r"\.([a-z-]+)", stylesheet()))
    used = {
        word
        for text in pictures_with("steps.0")
        for element in ElementTree.fromstring(text).iter()
        for word in element.attrib.get("class", "").split()
    }
    plain = {"pattern", "node", "agent", "call"}
    assert used - known - plain == set()


def test_the_picture_of_a_run_without_anything_is_empty() -> None:
    assert svg_pattern(PatternGraph("chain", (), (), 0)) == budgets_html([]) == costs_html(Costs((), (), ())) == ""


def test_each_node_is_below_those_that_lead_to_it_and_no_two_share_a_place() -> None:
    nodes = [f"n{number}" for number in range(30)]
    edges = [(one, other) for one, other in itertools.combinations(nodes, 2) if hash_of(one, other) % 7 == 0]
    edges.append(("n3", "n20"))
    cycle = [("n20", "n3"), ("n5", "n5")]
    layout = layout_of(nodes, [*edges, *cycle])
    assert set(cycle) <= set(layout.back)
    for before, after in layout.paths:
        assert layout.places[before][1] < layout.places[after][1]
    assert len(set(layout.places.values())) == len(nodes)
    assert layout.paths.keys() | set(layout.back) == {*edges, *cycle}


def hash_of(one: str, other: str) -> int:
    return int(one[1:]) * 31 + int(other[1:]) * 17


def test_a_long_chain_needs_no_depth_of_calls() -> None:
    nodes = [str(number) for number in range(5000)]
    layout = layout_of(nodes, itertools.pairwise(nodes))
    assert (layout.layers, layout.columns) == (5000, 1)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0 s"), (0.0001, "under 1 ms"), (0.34, "340 ms"), (2.04, "2 s"), (185, "3 min 5 s"), (7800, "2 h 10 min")],
)
def test_a_span_of_time_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert time_span(seconds) == words
