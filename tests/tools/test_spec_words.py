"""Every word by which a tool speaks of itself works or is reported, at the top of its spec and under `strands_cli`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from strands_cli.catalog.catalog import discover_catalog
from strands_cli.catalog.source.source_tool import meaningless_words, normal_spec
from strands_cli_dev.plugin_check.manifests import make_manifests
from strands_cli_dev.plugin_check.plugin_project import read_project
from strands_cli_dev.plugin_check.whole_plugin import check_plugin
from tests.agents.kit import RunContext, Site, calling, error
from tests.distributions import make_distribution

CATALOGUE: dict[str, Any] = {
    "family": "texts",
    "category": "text",
    "requires": {"modules": ["a_module_that_is_not_here"]},
    "deprecated": {"since": "1.0", "replacement": "shout"},
    "config_schema": {"type": "object", "properties": {"n": {"type": "integer"}}},
    "examples": [{"input": {"text": "a"}}],
}
SPEC = {
    "name": "echo",
    "description": "Echo a text.",
    "inputSchema": {"json": {"type": "object", "properties": {"text": {"type": "string"}}}},
}
BODY = "def echo(tool, **kwargs):\n    return {'status': 'success', 'content': [{'text': 'x'}]}\n"
DECORATED = """
from strands import tool
from strands_tool_kit import tool_metadata

@tool_metadata({words})
@tool
def echo(text: str) -> str:
    "Echo a text."
    return text
"""


def spec_of(words: dict[str, Any], place: str) -> dict[str, Any]:
    return {**SPEC, **words} if place == "top" else {**SPEC, "strands_cli": words}


def module_of(words: dict[str, Any], place: str = "top") -> str:
    return f"TOOL_SPEC = {spec_of(words, place)!r}\n{BODY}"


def decorated(words: dict[str, Any]) -> str:
    return DECORATED.replace("{words}", ", ".join(f"{name}={value!r}" for name, value in words.items()))


def catalog_of(directory: Path, source: str, entry: str = "strands_tool_echo") -> Any:
    make_distribution(directory, "strands-tool-echo", "1.0", {"echo": entry}, {"strands_tool_echo.py": source})
    return discover_catalog([str(directory)])


@pytest.mark.parametrize(
    ("source", "entry"),
    [
        (module_of(CATALOGUE), "strands_tool_echo"),
        (module_of(CATALOGUE, "strands_cli"), "strands_tool_echo"),
        (decorated(CATALOGUE), "strands_tool_echo:echo"),
    ],
    ids=["top", "strands_cli", "decorator"],
)
def test_the_fields_of_a_catalogue_work_without_a_manifest(tmp_path: Path, source: str, entry: str) -> None:
    catalog = catalog_of(tmp_path, source, entry)
    record = catalog.get("echo")
    assert catalog.findings == ()
    assert (record.family, record.category, record.deprecated) == ("texts", "text", CATALOGUE["deprecated"])
    assert (record.config_schema, record.examples) == (CATALOGUE["config_schema"], tuple(CATALOGUE["examples"]))
    assert (record.status, record.strands_cli) == ("unmet", {})


@pytest.mark.parametrize("place", ["top", "strands_cli"])
def test_words_of_safety_work_wherever_they_are(site: Site, place: str) -> None:
    words = {"read_only": True, "requires_consent": True, "timeout_ms": 1500}
    site.install(module_of(words, place), manifest=False)
    planned = site.plan("native:echo")[0]
    assert planned.record.annotations == {"readOnlyHint": True}
    assert planned.record.strands_cli == {"requires_confirmation": True, "timeout_s": 1.5}
    # It asks, and there is no one to ask, although it declares read-only.
    result = calling(planned, {}, rules=(), host=RunContext())
    assert error(result)["code"] == "denied"


def test_the_loaded_tool_says_the_same_as_its_source(site: Site) -> None:
    words = {"requires_consent": True, "timeout": 3, "family": "texts"}
    site.install(module_of(words), manifest=False)
    [loaded] = next(iter(site.load("native:echo").tools.values()))
    assert loaded.claims == {"requires_confirmation": True, "timeout_s": 3}


def test_a_manifest_that_repeats_the_words_of_the_code_is_not_a_mismatch(site: Site) -> None:
    words = {"family": "texts", "requires_consent": False}
    site.install(
        module_of({**words}, "strands_cli"), {"strands_cli": words, "input_schema": SPEC["inputSchema"]["json"]}
    )  # type: ignore[index]
    assert site.call("native:echo", {"text": "a"})["status"] == "success"


@pytest.mark.parametrize("place", ["top", "strands_cli"])
@pytest.mark.parametrize(
    ("word", "value", "fix"),
    [
        ("requires_confirmaton", True, "`requires_confirmation`"),
        ("version", "1.0", "strands explain manifest"),
        ("family", 3, "a string"),
        ("timeout_s", "5", "a number"),
        ("requires_consent", "yes", "it counts as True; give it True or False"),
        ("deprecated", True, "a mapping"),
    ],
)
def test_what_means_nothing_is_reported(tmp_path: Path, place: str, word: str, value: Any, fix: str) -> None:
    [found] = catalog_of(tmp_path, module_of({word: value}, place)).findings
    assert (found.code, found.severity) == ("tool-word", "warning")
    assert repr(word) in found.message
    assert found.fix
    assert fix in found.fix


def test_plugin_check_reports_them_beside_a_manifest_and_the_writer_takes_the_words(tmp_path: Path) -> None:
    package = tmp_path / "src" / "strands_tool_echo"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "echo.py").write_text(module_of({"family": "texts", "vendor": "me"}))
    (tmp_path / "pyproject.toml").write_text(
        "[project]\nname = 'strands-tool-echo'\nversion = '1'\n"
        "[project.entry-points.'strands_cli.tools']\necho = 'strands_tool_echo.echo'\n"
    )
    [document] = make_manifests(read_project(tmp_path)).values()
    assert document["tools"][0]["family"] == "texts"
    document["tools"][0]["family"] = "other"
    (package / "strands_tools.json").write_text(json.dumps(document))
    codes = {found.code for found in check_plugin(read_project(tmp_path)).findings}
    assert {"tool-word", "manifest-drift"} <= codes


def test_the_words_of_the_sdk_mean_what_they_mean() -> None:
    spec = {**SPEC, "outputSchema": {"json": {}}, "annotations": {"title": "E", "readOnlyHint": True}}
    assert meaningless_words(spec) == []
    assert normal_spec(spec) == spec


def test_a_confirmation_in_another_form_counts_as_required() -> None:
    assert normal_spec({**SPEC, "requires_consent": "no idea"})["strands_cli"] == {"requires_confirmation": True}


def test_under_strands_cli_is_stronger_and_a_hint_of_annotations_too() -> None:
    spec = {
        **SPEC,
        "timeout_s": 1,
        "read_only": True,
        "annotations": {"readOnlyHint": False},
        "strands_cli": {"timeout_s": 2},
    }
    normal = normal_spec(spec)
    assert (normal["strands_cli"], normal["annotations"]) == ({"timeout_s": 2}, {"readOnlyHint": False})
