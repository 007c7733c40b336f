"""The page on the environment has every variable that the sources read."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from strands_cli.machine_checks.setup_checks import VARIABLES
from strands_cli.provider_table import PROVIDERS
from tests.docs.pages import CLONE

PAGE = (CLONE / "docs" / "reference" / "environment.md").read_text("utf-8")
TELEMETRY = (CLONE / "docs" / "how-to" / "telemetry.md").read_text("utf-8")
OURS = re.compile(r"\b_?STRANDS_[A-Z_]+\b")
# Set for libraries.
FOR_LIBRARIES = {"LITELLM_LOCAL_MODEL_COST_MAP", "PYDANTIC_DISABLE_PLUGINS", "LANG"}


def sources() -> Iterator[Path]:
    yield from (CLONE / "src").rglob("*.py")
    yield from (CLONE / "packages").glob("*/src/**/*.py")


def texts() -> Iterator[str]:
    """Yield every string of the sources that may have such a name."""
    for path in sources():
        if OURS.search(text := path.read_text("utf-8")):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield node.value


def reads() -> Iterator[str]:
    """Yield the names that code looks up in an `environ`, where they are written as texts."""
    for path in sources():
        if "environ" not in (text := path.read_text("utf-8")):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Subscript):
                owner, key = node.value, node.slice
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                owner, key = node.func.value, node.args[0]
            else:
                continue
            if ast.unparse(owner).endswith("environ") and isinstance(key, ast.Constant):
                yield str(key.value)


def test_every_variable_with_our_prefix_is_on_the_page() -> None:
    named = {name for text in texts() for name in OURS.findall(text)} - {"STRANDS_"}
    assert named >= set(VARIABLES)
    assert sorted(name for name in named if f"`{name}`" not in PAGE) == []


def test_every_variable_that_is_read_by_name_is_on_a_page() -> None:
    named = set(reads()) - FOR_LIBRARIES
    assert {"STRANDS_RUNS_DIR", "XDG_DATA_HOME", "OTEL_SDK_DISABLED"} <= named
    assert sorted(name for name in named if name not in PAGE + TELEMETRY) == []


def test_every_variable_of_a_provider_is_on_the_page() -> None:
    for provider in PROVIDERS.values():
        named = {*provider.keys, *provider.keyless_variables, *filter(None, [provider.host_variable])}
        assert [name for name in named if f"`{name}`" not in PAGE] == [], provider.name
