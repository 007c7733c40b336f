"""Values of an object's attributes as JSON, with types that JSON does not have; and what can be seen of others."""

from __future__ import annotations

import base64
import hashlib
import sys
import threading
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from uuid import UUID

from strands.types.tools import AgentTool

from strands_cli.tools.forms import RawTool

# More than this is not stored.
MOST_VALUES = 100_000
_PLAIN = (str, int, bool, type(None))
# Nothing is kept in these.
_EMPTY = (object, FunctionType, BuiltinFunctionType, MethodType, ModuleType, type)
_LOCKS = (type(threading.Lock()), type(threading.RLock()), threading.Condition, threading.Event, threading.Semaphore)


def _pairs(value: Mapping[Any, Any]) -> list[list[Any]]:
    return [list(pair) for pair in list(value.items())]


# How each type is stored, and made again.
_PARTS: Mapping[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {
    "tuple": (tuple, list, tuple),
    "set": (set, lambda value: sorted(value, key=repr), set),
    "frozenset": (frozenset, lambda value: sorted(value, key=repr), frozenset),
    "deque": (deque, lambda value: [list(value), value.maxlen], lambda parts: deque(*parts)),
    "pairs": (dict, _pairs, dict),
    "ordered": (OrderedDict, _pairs, OrderedDict),
    "counter": (Counter, _pairs, lambda pairs: Counter(dict(pairs))),
    "bytes": (bytes, lambda value: base64.b64encode(value).decode(), base64.b64decode),
    "float": (float, repr, float),
    "decimal": (Decimal, str, Decimal),
    "datetime": (datetime, datetime.isoformat, datetime.fromisoformat),
    "date": (date, date.isoformat, date.fromisoformat),
    "time": (time, time.isoformat, time.fromisoformat),
    "timedelta": (timedelta, lambda value: [value.days, value.seconds, value.microseconds], lambda n: timedelta(*n)),
    "uuid": (UUID, str, UUID),
    "path": (type(Path()), str, Path),
}
_NAMES = {kind: name for name, (kind, _, _) in _PARTS.items()}
_FACTORIES = {factory.__name__: factory for factory in (int, float, str, list, dict, set)}


class NotDataError(Exception):
    """The value has parts that cannot be stored."""


def object_of(raw: RawTool) -> Any:
    """Return the object with which a tool may keep values from call to call, or None: a function has none."""
    if raw.is_remote or raw.made_of is None:
        return None
    bound = getattr(getattr(raw.made_of, "_tool_func", None), "__self__", None)
    if bound is not None:
        return bound
    is_own_class = isinstance(raw.made_of, AgentTool) and not type(raw.made_of).__module__.startswith("strands.")
    return raw.made_of if is_own_class else None


def attributes_of(thing: Any) -> dict[str, Any]:
    """Return what an object holds: what its own `__getstate__` says, or its attributes and slots."""
    if _has_own_state(thing):
        state = thing.__getstate__()
        return dict(state) if isinstance(state, Mapping) else {"state": state}
    slots = {name for kind in type(thing).__mro__ for name in _names(getattr(kind, "__slots__", ()))}
    held = {name: getattr(thing, name) for name in slots - {"__dict__", "__weakref__"} if hasattr(thing, name)}
    return {**held, **getattr(thing, "__dict__", {})}


def put_back(thing: Any, values: Mapping[str, Any], gone: Any) -> None:
    """Set attributes of an object, or its state where it has a `__setstate__`, as they were stored."""
    if _has_own_state(thing) and hasattr(thing, "__setstate__"):
        state = {name: value for name, value in {**attributes_of(thing), **values}.items() if name not in gone}
        thing.__setstate__(state["state"] if state.keys() == {"state"} else state)
        return
    for name, value in values.items():
        setattr(thing, name, value)
    for name in gone:
        if hasattr(thing, name):
            delattr(thing, name)


def _has_own_state(thing: Any) -> bool:
    return getattr(type(thing), "__getstate__", None) is not getattr(object, "__getstate__", None)


def _names(slots: Any) -> tuple[str, ...]:
    return (slots,) if isinstance(slots, str) else tuple(slots)


def as_data(value: Any, left: list[int] | None = None) -> Any:
    """Return a value as JSON.

    Raises:
        NotDataError: A part of it cannot be stored, or it is too large.
    """
    left = left if left is not None else [MOST_VALUES]
    left[0] -= 1
    if left[0] < 0:
        raise NotDataError("it is too large")
    kind = type(value)
    if kind in _PLAIN or (kind is float and value - value == 0):
        return value
    if kind is list:
        return [as_data(part, left) for part in list(value)]
    if kind is dict and all(type(key) is str and not key.startswith("$") for key in list(value)):
        return {key: as_data(part, left) for key, part in list(value.items())}
    if kind is defaultdict and getattr(value.default_factory, "__name__", "") in _FACTORIES:
        return {"$defaultdict": [value.default_factory.__name__, as_data(dict(value), left)]}
    if kind not in _NAMES:
        raise NotDataError(f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins."))
    return {f"${_NAMES[kind]}": as_data(_PARTS[_NAMES[kind]][1](value), left)}


def from_data(stored: Any) -> Any:
    """Return the value that was stored."""
    if isinstance(stored, list):
        return [from_data(part) for part in stored]
    if not isinstance(stored, Mapping):
        return stored
    name = next(iter(stored), "")
    if not name.startswith("$"):
        return {key: from_data(part) for key, part in stored.items()}
    if name == "$defaultdict":
        factory, parts = stored[name]
        return defaultdict(_FACTORIES[factory], from_data(parts))
    return _PARTS[name[1:]][2](from_data(stored[name]))


def seen_in(value: Any, of: Any) -> str:
    """Return a digest of what can be seen in a value that cannot be stored, or "" if that is nothing.

    Objects of the classes beside the one of `of` are looked into. Others, such as clients and connections, are not:
    they are often made when they are first needed.
    """
    try:
        seen = _seen(value, type(of).__module__.partition(".")[0], [MOST_VALUES])
    except (RecursionError, RuntimeError):
        seen = "not seen"
    return hashlib.sha256(repr(seen).encode("utf-8", "replace")).hexdigest() if seen not in (None, [], ()) else ""


def _seen(value: Any, package: str, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        return None
    if isinstance(value, Mapping):
        return [(repr(key)[:200], _seen(part, package, left)) for key, part in list(value.items())]
    if isinstance(value, (list, tuple, deque, set, frozenset)):
        return [_seen(part, package, left) for part in list(value)]
    try:
        return as_data(value, left)
    except NotDataError:
        is_own = type(value).__module__.partition(".")[0] == package and not isinstance(value, type)
        return [type(value).__qualname__, _seen(attributes_of(value), package, left)] if is_own else _written(value)


def _written(value: Any) -> str | None:
    """Return how a value of the standard library is written in Python, such as `count(3)`; None for handles."""
    if type(value).__module__.partition(".")[0] not in sys.stdlib_module_names:
        return None
    text = repr(value)
    return None if text.startswith("<") or " at 0x" in text else text


def handles_in(values: Mapping[str, Any]) -> dict[str, str]:
    """Return the attributes whose contents cannot be seen, such as connections, with their types."""
    found = {}
    for name, value in values.items():
        kind = type(value)
        if isinstance(value, (Mapping, list, tuple, deque, set, frozenset, *_EMPTY[1:], *_LOCKS)) or kind is object:
            continue
        found[name] = f"{kind.__module__}.{kind.__qualname__}"
    return found
