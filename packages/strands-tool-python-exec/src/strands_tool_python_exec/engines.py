"""The engines that run code on this machine: each is asked by a test of its refusals, never by its name."""

from __future__ import annotations

from typing import Any

from strands_tool_python_exec import _engine, _monty

AUTO = "auto"
# The order in which `auto` tries them.
NAMES = (_engine.NAME, _monty.NAME)
_LOCKED_LAYERS = ("landlock", "seccomp", "resource limits", "namespaces", "scratch size")
_MONTY_LAYERS = ("interpreter", "own process", "kernel walls")


def choose(word: str = AUTO) -> tuple[str, str]:
    """Return the engine to use and an empty text, or no engine and why there is none.

    The first question of a process runs the self-tests; answers are kept.
    """
    refusals = []
    for name in NAMES if word == AUTO else (word,):
        reason = _reason(name)
        if not reason:
            return name, ""
        refusals.append(f"{name}: {reason}")
    return "", "; ".join(refusals)


def engines() -> list[dict[str, Any]]:
    """Return every engine in the order of `auto`, tested here and now.

    Returns:
        `engine`, `available`, `reason` (empty where it is available) and `layers`, each `enforced`, `best effort` or
        `not available`.
    """
    return [
        {"engine": name, "available": not _reason(name), "reason": _reason(name), "layers": _layers(name)}
        for name in NAMES
    ]


def _reason(name: str) -> str:
    return _engine.verdict().reason if name == _engine.NAME else _monty.reason()


def _layers(name: str) -> dict[str, str]:
    if _reason(name):
        return dict.fromkeys(_LOCKED_LAYERS if name == _engine.NAME else _MONTY_LAYERS, "not available")
    if name == _monty.NAME:
        return dict(zip(_MONTY_LAYERS, ("enforced", "enforced", "not available"), strict=True))
    layers = dict(_engine.verdict().layers)
    return {
        **dict.fromkeys(_LOCKED_LAYERS, "enforced"),
        "namespaces": "enforced" if layers["namespaces"].startswith("user") else "not available",
        "scratch size": layers["disk"],
    }
