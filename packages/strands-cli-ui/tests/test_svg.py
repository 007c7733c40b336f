"""The pictures as SVG: well-formed, without styles or ids of their own, whatever names a workflow has."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from strands_cli.events import Usage
from strands_cli_ui.pages.html_text import anchor_of
from strands_cli_ui.pages.page_frame import stylesheet
from strands_cli_ui.pictures.costs import BudgetBar, CostLine
from strands_cli_ui.pictures.pattern_graph import PatternEdge, PatternGraph, PatternNode
from strands_cli_ui.pictures.svg_bars import svg_bars, svg_budget
from strands_cli_ui.pictures.svg_layers import layout_of
from strands_cli_ui.pictures.svg_parts import time_span
from strands_cli_ui.pictures.svg_pattern import svg_pattern
from strands_cli_ui.pictures.svg_timeline import svg_timeline
from strands_cli_ui.pictures.time_scale import scale_of
from strands_cli_ui.pictures.timeline import Lane, Timeline
from strands_cli_ui.pictures.timeline_bars import Bar

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


def timeline_with(name: str) -> Timeline:
    bars = (
        Bar(f"{name}/model.0", "model", "done", name, 100.0, 101.0),
        Bar(f"{name}/approval", "person", "waiting", name, 101.0, 5000.0, is_open=True),
        Bar(f"{name}/tool.0", "tool", "failed", name, 5000.0, 5001.0, count=7),
    )
    scale = scale_of(100.0, 5001.0, [(100.0, 101.0), (5000.0, 5001.0)], [(101.0, 5000.0)])
    lanes = (Lane(name, name, name, (bars,)), Lane(name, None, "", (bars, bars)))
    return Timeline(lanes, scale, 100.0, 5001.0, 21, left_out=3, reused=2, is_open=True)


def graph_with(name: str) -> PatternGraph:
    nodes = (
        PatternNode("a", name, "agent", name, "done", name, 2),
        PatternNode("b", name, "gate", "person", "not-begun"),
        PatternNode("c", name, "call", name, "skipped"),
    )
    edges = (PatternEdge("a", "b", name, is_taken=True), PatternEdge("a", "c"), PatternEdge("b", "a", name))
    return PatternGraph("graph", nodes, edges, 1000)


def pictures_with(name: str) -> Iterator[str]:
    yield svg_timeline(timeline_with(name))
    yield svg_pattern(graph_with(name))
    yield svg_bars([CostLine(name, 2, 1, Usage(10, 5), 0.5, 1, 2.0)] * 30, name)
    yield svg_bars([CostLine(name, 1, seconds=1.0)], "Tools")
    yield svg_budget([BudgetBar(name, 1e12, 0.0), BudgetBar("max_cost_usd", 0.9, 1.0, is_lower_bound=True)])


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_a_picture_is_well_formed_and_safe_whatever_the_names_are(name: str) -> None:
    for text in pictures_with(name):
        tree = ElementTree.fromstring(text)
        found = [(element.tag.removeprefix(SVG), element.attrib) for element in tree.iter()]
        assert {tag for tag, _ in found} <= {
            *("div", "svg", "title", "desc", "g", "a", "rect", "path", "polygon", "polyline", "text")
        }
        attributes = {name for _, given in found for name in given}
        assert attributes.isdisjoint({"style", "id"})
        assert not [one for one in attributes if one.startswith("on")]
        assert all(given["href"].startswith("#e-") for tag, given in found if tag == "a")
        assert len(text) < 30_000


def test_each_part_of_a_picture_leads_to_its_effect_and_has_a_name() -> None:
    tree = ElementTree.fromstring(svg_timeline(timeline_with("steps.0")))
    links = {link.attrib["href"]: link.attrib["aria-label"] for link in tree.iter(f"{SVG}a")}
    assert links.keys() == {f"#{anchor_of(f'steps.0{rest}')}" for rest in ("", "/model.0", "/approval", "/tool.0")}
    assert all(links.values())
    (node,) = ElementTree.fromstring(svg_pattern(graph_with("steps.0"))).iter(f"{SVG}a")
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
    plain = {"timeline", "pattern", "costs", "budget", "node", "agent", "call", "gate", "model", "used", "below"}
    assert used - known - plain == set()


def test_of_many_bars_only_those_are_links_that_need_a_look() -> None:
    bars = tuple(Bar(f"s/model.{one}", "model", "done", "w", 100.0 + one, 101.0 + one) for one in range(200))
    bars = (*bars[:7], replace(bars[7], status="failed"), *bars[8:])
    scale = scale_of(100.0, 300.0, [(100.0, 300.0)], [])
    tree = ElementTree.fromstring(svg_timeline(Timeline((Lane("s", "s", "w", (bars,)),), scale, 100.0, 300.0, 200)))
    links = [link.attrib["href"] for link in tree.iter(f"{SVG}a")]
    assert links == [f"#{anchor_of('s')}", f"#{anchor_of('s/model.7')}"]


def test_the_picture_of_a_run_without_anything_is_empty() -> None:
    empty = replace(timeline_with("a"), lanes=())
    assert svg_timeline(empty) == svg_pattern(PatternGraph("chain", (), (), 0)) == ""
    assert svg_bars([], "Tools") == svg_budget([]) == ""


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
