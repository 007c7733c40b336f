"""`quick_dataclass.dataclass` and the standard one make the same of a class."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from strands_cli import quick_dataclass

Decorator = Callable[..., Any]
FROZEN = ("FrozenInstanceError", "TypeError")  # with slots the standard one fails to raise its own error
MAKERS = {"standard": dataclasses.dataclass, "quick": quick_dataclass.dataclass}


def family(dataclass: Decorator, options: dict[str, Any]) -> tuple[type[Any], type[Any]]:
    @dataclass(frozen=True, **options)
    class Base:
        """A base."""

        a: int
        b: str = field(default="b", repr=False)

        def __post_init__(self) -> None:
            if self.a < 0:
                raise ValueError("negative")

        def twice(self) -> int:
            return 2 * self.a

    @dataclass(frozen=True, **options)
    class Child(Base):
        """A child."""

        c: list[int] = field(default_factory=list, compare=False)
        d: int = field(default=0, hash=False)

        def twice(self) -> int:
            return dataclasses.replace(self, a=10 * self.a).a

    return Base, Child


def facts(dataclass: Decorator, options: dict[str, Any]) -> dict[str, Any]:
    base, child = family(dataclass, options)
    one, same, other = child(a=1), child(a=1, c=[7]), child(a=1, d=5)
    return {
        "signatures": [str(inspect.signature(kind)) for kind in (base, child)],
        "repr": [repr(one), repr(base(a=3))],
        "equal": [one == same, one == other, one == base(a=1), one != same, one == 3],
        "hash": [hash(one) == hash(same) == hash(other), hash(base(a=1)) == hash(base(a=2))],
        "replaced": repr(dataclasses.replace(one, d=4)),
        "as dict": dataclasses.asdict(one),
        "copied": [copy.copy(one) == one, copy.deepcopy(same).c == [7]],
        "match": child.__match_args__,
        "dict": hasattr(one, "__dict__"),
        "own list": one.c is not child(a=1).c,
        "methods": [base(a=2).twice(), one.twice()],
        "refused": refusal(lambda: setattr(one, "new", 2)).partition(":")[0] in FROZEN,
        "refusals": [
            refusal(lambda: setattr(one, "a", 2)),
            refusal(lambda: delattr(one, "a")),
            refusal(lambda: base(a=-1)),
            refusal(base),
        ],
    }


def refusal(work: Callable[[], Any]) -> str:
    with pytest.raises(Exception) as caught:
        work()
    return f"{type(caught.value).__name__}: {caught.value}"


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"slots": True, "kw_only": True}], ids=str)
def test_both_make_the_same_of_a_class(options: dict[str, Any]) -> None:
    assert facts(quick_dataclass.dataclass, options) == facts(dataclasses.dataclass, options)


def changeable(dataclass: Decorator, options: dict[str, Any]) -> dict[str, Any]:
    @dataclass(**options)
    class Seen:
        """What was seen; a part of it is not given."""

        a: int
        b: list[int] = field(default_factory=list)
        c: dict[str, int] = field(init=False, default_factory=dict)
        d: str = field(init=False, repr=False, compare=False)

        def __post_init__(self) -> None:
            self.d = f"<{self.a}>"

    one, same, other = Seen(a=1), Seen(a=1), Seen(a=2)
    one.b.append(3)
    one.c["x"] = 1
    one.a = 5
    return {
        "signature": str(inspect.signature(Seen)),
        "repr": [repr(one), repr(same)],
        "equal": [same == Seen(a=1), one == same, same == other, same == 3],
        "own": [same.b, same.c, one.d],
        "hash": refusal(lambda: hash(one)),
        "replaced": refusal(lambda: dataclasses.replace(one, c={})),
        "as dict": dataclasses.asdict(one),
        "copied": [copy.copy(one) == one, copy.deepcopy(one).b],
        "match": Seen.__match_args__,  # type: ignore[attr-defined]
        "dict": hasattr(one, "__dict__"),
        "missing": refusal(Seen),
    }


@pytest.mark.parametrize("options", [{}, {"slots": True}, {"slots": True, "kw_only": True}], ids=str)
def test_both_make_the_same_of_a_class_whose_objects_change(options: dict[str, Any]) -> None:
    assert changeable(quick_dataclass.dataclass, options) == changeable(dataclasses.dataclass, options)


@pytest.mark.parametrize("dataclass", MAKERS.values(), ids=MAKERS)
def test_a_class_without_fields(dataclass: Decorator) -> None:
    @dataclass(frozen=True)
    class Nothing:
        """Nothing."""

    assert repr(Nothing()).endswith("Nothing()")
    assert (Nothing(), hash(Nothing())) == (Nothing(), hash(Nothing()))


@quick_dataclass.dataclass(frozen=True, slots=True)
class Stored:
    """A value that leaves the process."""

    a: int
    b: tuple[str, ...] = ()


def test_a_value_with_slots_is_pickled() -> None:
    assert pickle.loads(pickle.dumps(Stored(1, ("x",)))) == Stored(1, ("x",))


@pytest.mark.parametrize("dataclass", MAKERS.values(), ids=MAKERS)
def test_a_class_with_its_own_function_keeps_it(dataclass: Decorator) -> None:
    @dataclass(frozen=True)
    class Own:
        """A class with an own repr, and a field that is not given."""

        a: int
        b: int = field(default=3, init=False)

        def __repr__(self) -> str:
            return "mine"

    assert (repr(Own(1)), Own(1).b, Own(1) == Own(1)) == ("mine", 3, True)


@pytest.mark.parametrize("dataclass", MAKERS.values(), ids=MAKERS)
def test_a_class_below_may_have_other_attributes(dataclass: Decorator) -> None:
    base, _ = family(dataclass, {})

    class Below(base):  # type: ignore[misc, valid-type]
        pass

    one = Below(a=1)
    one.other = 2
    assert one.other == 2
    assert refusal(lambda: setattr(one, "a", 2)).startswith("FrozenInstanceError")


def test_a_recursive_value_has_a_repr() -> None:
    @quick_dataclass.dataclass(frozen=True)
    class Holder:
        """Holds anything."""

        held: list[Any]

    one = Holder([])
    one.held.append(one)
    assert "..." in repr(one)
