"""The pattern of a run as SVG: its steps with their states, and the arrows between them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from strands_cli.api import counted
from strands_cli_ui.pictures.svg_layers import Layout, layout_of
from strands_cli_ui.pictures.svg_parts import label, linked, number, picture, rectangle, text_at, title

if TYPE_CHECKING:
    from strands_cli_ui.pictures.pattern_graph import PatternEdge, PatternGraph, PatternNode

_NODE, _HEIGHT = 170.0, 46.0
_COLUMN, _LAYER = 200.0, 92.0
_MARGIN = 12.0
_LABEL = 24
_WORDS = {"agent": "agent", "gate": "gate", "call": "tool call"}


def svg_pattern(graph: PatternGraph, link: Callable[[str], str] | None = None) -> str:
    """Return the picture of a pattern; empty where it has no steps.

    Args:
        link: Returns the address of an effect by its key.
    """
    if not graph.nodes:
        return ""
    layout = layout_of([node.id for node in graph.nodes], [(edge.before, edge.after) for edge in graph.edges])
    width = layout.columns * _COLUMN + _MARGIN * 2
    loops = {edge: width + number * 12 for number, edge in enumerate(layout.back)}
    edges = sorted(graph.edges, key=lambda edge: edge.is_taken)
    parts = [_edge(edge, layout, loops) for edge in edges]
    parts += [_node(node, *_middle(layout.places[node.id]), link) for node in graph.nodes]
    # Edges to the same step may have one reason, as those of all workers.
    labelled = {(edge.label, edge.after): edge for edge in graph.edges if edge.label}
    parts += [_edge_label(edge, layout, loops) for edge in labelled.values()]
    if loops:
        width += 12 * len(loops) + _LABEL * 7
    height = (layout.layers - 1) * _LAYER + _HEIGHT + _MARGIN * 2
    if graph.steps > len(graph.nodes):
        height += 16
        parts.append(text_at(_MARGIN, height - 8, _cut_note(graph), "soft", 90))
        width = max(width, 560.0)
    name, has_links = f"Pattern: {graph.type}", any(node.key is not None for node in graph.nodes)
    return picture("pattern", (width, height), name, _about(graph), parts, has_links=has_links and link is not None)


def _middle(position: tuple[float, float]) -> tuple[float, float]:
    """Return the middle of a node in pixels."""
    column, layer = position
    return _MARGIN + column * _COLUMN, _MARGIN + layer * _LAYER + _HEIGHT / 2


def _cut_note(graph: PatternGraph) -> str:
    return f"{len(graph.nodes)} of {graph.steps:,} steps are drawn: those that tell something, then the first ones."


def _about(graph: PatternGraph) -> str:
    counts = Counter(node.state for node in graph.nodes)
    states = ", ".join(f"{count} {_state(state)}" for state, count in counts.items())
    remark = f" {_cut_note(graph)}" if graph.steps > len(graph.nodes) else ""
    return f"{counted(graph.steps, 'step')}: {states}.{remark}"


def _state(state: str) -> str:
    return state.replace("-", " ")


def _node(node: PatternNode, x: float, y: float, link: Callable[[str], str] | None) -> str:
    left, top = x - _NODE / 2, y - _HEIGHT / 2
    times = f" ×{node.times}" if node.times > 1 else ""
    second = f"{_state(node.state)}{times}" if link is not None else _WORDS[node.kind]
    who = f"{label(node.who, 20)} · " if node.who else ""
    inner = [
        _shape(node, left, top),
        text_at(x, y - 4, node.name, "middle name", 22),
        f'<text x="{number(x)}" y="{number(y + 13)}" class="middle state">{who}{second}</text>',
    ]
    words = f"{node.id}: {_WORDS[node.kind]} {node.who}, {_state(node.state)}{times}"
    address = link(node.key) if link is not None and node.key is not None else None
    return f'<g class="node {node.kind} {node.state}">{linked(address, words, "".join(inner))}</g>'


def _shape(node: PatternNode, left: float, top: float) -> str:
    """Return the shape of a node: a gate has points at its sides, a call of a tool has double sides."""
    if node.kind == "gate":
        right, bottom, middle = left + _NODE, top + _HEIGHT, top + _HEIGHT / 2
        corners = [(left, middle), (left + 12, top), (right - 12, top), (right, middle), (right - 12, bottom)]
        points = " ".join(f"{number(x)},{number(y)}" for x, y in [*corners, (left + 12, bottom)])
        return f'<polygon points="{points}" class="box"/>'
    inner = rectangle(left + 5, top, _NODE - 10, _HEIGHT, "box side", 0) if node.kind == "call" else ""
    return rectangle(left, top, _NODE, _HEIGHT, "box", 8 if node.kind == "agent" else 0) + inner


def _is_back(edge: PatternEdge, loops: dict[tuple[str, str], float]) -> bool:
    return (edge.before, edge.after) in loops


def _edge(edge: PatternEdge, layout: Layout, loops: dict[tuple[str, str], float]) -> str:
    classes = "edge taken" if edge.is_taken else "edge"
    if _is_back(edge, loops):
        path, (x, y), way = _back_path(edge, layout, loops[edge.before, edge.after])
    else:
        path, (x, y), way = _down_path([_middle(position) for position in layout.paths[edge.before, edge.after]])
    tip = ((x, y), (x - 4, y - 8 * way), (x + 4, y - 8 * way)) if way else ((x, y), (x + 8, y - 4), (x + 8, y + 4))
    points = " ".join(f"{number(a)},{number(b)}" for a, b in tip)
    return f'<g class="{classes}"><path d="{path}"/><polygon points="{points}"/></g>'


def _down_path(middles: Sequence[tuple[float, float]]) -> tuple[str, tuple[float, float], int]:
    """Return curves through the places between two nodes, from the foot of the one to the head of the other."""
    points = [(middles[0][0], middles[0][1] + _HEIGHT / 2), *middles[1:-1]]
    points.append((middles[-1][0], middles[-1][1] - _HEIGHT / 2))
    path = [f"M{number(points[0][0])} {number(points[0][1])}"]
    for (x, y), (next_x, next_y) in pairwise(points):
        half = (y + next_y) / 2
        path.append(f"C{number(x)} {number(half)} {number(next_x)} {number(half)} {number(next_x)} {number(next_y)}")
    return " ".join(path), points[-1], 1


def _back_path(edge: PatternEdge, layout: Layout, right: float) -> tuple[str, tuple[float, float], int]:
    """Return a line from the right side of a node, up beside the others, to the right side of an earlier one."""
    x, y = _middle(layout.places[edge.before])
    end_x, end_y = _middle(layout.places[edge.after])
    x, end_x, y, end_y = x + _NODE / 2, end_x + _NODE / 2, y + 8, end_y - 8
    path = f"M{number(x)} {number(y)} H{number(right)} V{number(end_y)} H{number(end_x)}"
    return path, (end_x, end_y), 0


def _edge_label(edge: PatternEdge, layout: Layout, loops: dict[tuple[str, str], float]) -> str:
    """Return the label of an edge: above its end, or beside the line that leads back."""
    if _is_back(edge, loops):
        right = loops[edge.before, edge.after]
        (_, y), (_, end_y) = (_middle(layout.places[name]) for name in (edge.before, edge.after))
        x, y, classes = right + 5 + 12 * (len(loops) - 1), (y + end_y) / 2 + 4 + 14 * _turn(edge, loops), "edge-label"
    else:
        path = [_middle(position) for position in layout.paths[edge.before, edge.after]]
        x, y, classes = path[-1][0], path[-1][1] - _HEIGHT / 2 - 12, "edge-label middle"
    return f"<g>{title(edge.label)}{text_at(x, y, edge.label, classes, _LABEL)}</g>"


def _turn(edge: PatternEdge, loops: dict[tuple[str, str], float]) -> int:
    """Return the number of an edge among those that lead back, so that labels are below each other."""
    return list(loops).index((edge.before, edge.after))
