"""Standard tests: each yields problems and has a remedy; overriding one requires a reason."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from typing import Any, NoReturn, TypeVar

Test = TypeVar("Test", bound=Callable[..., Any])
_STANDARD = "__strands_standard__"
_EXCEPTION = "__strands_exception__"
_REMEDY = "If it fails: "


def standard(check: Callable[..., Iterator[str]]) -> Callable[..., None]:
    """Make a test of a check that yields one sentence per problem.

    The end of its docstring, from "If it fails: " on, is part of the failure's message.
    """
    remedy = " ".join((inspect.getdoc(check) or "").partition(_REMEDY)[2].split())
    if not remedy:
        raise TypeError(f"the docstring of {check.__name__} has no remedy")

    @functools.wraps(check)
    def test(*args: Any, **kwargs: Any) -> None:
        __tracebackhide__ = True
        problems = list(check(*args, **kwargs))
        if problems:
            fail("\n".join([*(f"- {problem}" for problem in problems), f"What to do: {remedy}"]))

    setattr(test, _STANDARD, True)
    return test


def contract_exception(reason: str) -> Callable[[Test], Test]:
    """Let a test replace a standard one, for a reason that every run of it reports.

    The test runs instead; if it passes, it is reported as skipped, with the reason.

    Raises:
        ValueError: The reason is empty.
    """
    if not isinstance(reason, str) or not reason.strip():
        raise ValueError("contract_exception: pass the reason why the standard test does not apply to this tool")

    def attach(test: Test) -> Test:
        @functools.wraps(test)
        def excepted(*args: Any, **kwargs: Any) -> None:
            __tracebackhide__ = True
            test(*args, **kwargs)
            skip(f"exception to the contract: {reason}")

        setattr(excepted, _EXCEPTION, reason)
        return excepted  # type: ignore[return-value]

    return attach


def require_standard_tests(contract: type, derived: type) -> None:
    """Check that a derived class overrides a standard test of a contract only with a reason.

    Raises:
        TypeError: It overrides tests without a reason; the message names each.
    """
    silent = [
        name
        for name, test in vars(contract).items()
        if getattr(test, _STANDARD, False)
        and not _is_standard_or_excepted(inspect.getattr_static(derived, name, None), test)
    ]
    if silent:
        raise TypeError(
            f"{derived.__name__} overrides {', '.join(silent)} without a reason; decorate it with "
            '@contract_exception("why the standard test does not apply to this tool")'
        )


def _is_standard_or_excepted(inherited: Any, test: Any) -> bool:
    return inherited is test or bool(getattr(inherited, _EXCEPTION, ""))


def fail(message: str) -> NoReturn:
    """Fail the running test with a message and without a traceback."""
    try:
        import pytest
    except ImportError:
        raise AssertionError(message) from None
    pytest.fail(message, pytrace=False)


def skip(message: str) -> NoReturn:
    """Report the running test as skipped."""
    try:
        import pytest
    except ImportError:
        from unittest import SkipTest

        raise SkipTest(message) from None
    pytest.skip(message)
