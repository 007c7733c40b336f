"""`strands plugin check`: a good plugin has nothing wrong; each spoiled copy fails exactly the check that is meant."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest

from strands_cli.cli.program import run_program
from strands_cli_dev.plugin_check.manifests import write_manifests
from strands_cli_dev.plugin_check.plugin_project import read_project
from strands_cli_dev.plugin_new.new_plugin import NewPlugin, make_plugin
from strands_cli_dev.plugin_new.plugin_name import name_plugin
from tests.distributions import make_distribution, manifest_of, module_source, sound, tool, twin
from tests.test_children import gone

pytestmark = pytest.mark.wheels

PACKAGE = "src/strands_tool_foo"
MODULE = f"{PACKAGE}/foo.py"
MANIFEST = f"{PACKAGE}/strands_tools.json"


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        return json.loads(self.out)


class Check(Protocol):
    def __call__(self, *arguments: str | Path) -> Answer: ...


@pytest.fixture
def check(capsys: pytest.CaptureFixture[str]) -> Check:
    def run(*arguments: str | Path) -> Answer:
        code = run_program(["plugin", "check", *map(str, arguments)])
        return Answer(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_plugin(NewPlugin(name_plugin("foo")), tmp_path_factory.mktemp("good"))


@pytest.fixture
def plugin(good: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(good, tmp_path / "plugin"))


Spoil = Callable[[Path], object]


def edit(path: str, old: str, new: str) -> Spoil:
    def spoil(plugin: Path) -> None:
        text = (plugin / path).read_text(encoding="utf-8")
        assert old in text
        (plugin / path).write_text(text.replace(old, new, 1), encoding="utf-8")

    return spoil


def settings(old: str, new: str) -> Spoil:
    return edit("pyproject.toml", old, new)


def code(old: str, new: str) -> Spoil:
    """Change the code, and make the manifest again."""

    def spoil(plugin: Path) -> None:
        edit(MODULE, old, new)(plugin)
        write_manifests(read_project(plugin))

    return spoil


def described(text: str) -> Spoil:
    """Change the description of the tool, and make the manifest again."""

    def spoil(plugin: Path) -> None:
        module = plugin / MODULE
        changed = re.sub(r'"description": "[^"]+"', f'"description": {text}', module.read_text("utf-8"), count=1)
        module.write_text(changed, encoding="utf-8")
        write_manifests(read_project(plugin))

    return spoil


def manifest(change: Callable[[dict[str, Any]], object]) -> Spoil:
    def spoil(plugin: Path) -> None:
        document = json.loads((plugin / MANIFEST).read_text(encoding="utf-8"))
        change(document)
        (plugin / MANIFEST).write_text(json.dumps(document), encoding="utf-8")

    return spoil


def authored(**fields: Any) -> Spoil:
    """Change what only the manifest says."""
    return manifest(lambda document: document["tools"][0].update(fields))


def remove(path: str) -> Spoil:
    return lambda plugin: (plugin / path).unlink()


def ignore(line: str) -> Spoil:
    return lambda plugin: (plugin / ".gitignore").write_text(f"dist/\n{line}\n")


def setuptools(plugin: Path) -> None:
    settings('requires = ["hatchling>=1.27"]', 'requires = ["setuptools"]')(plugin)
    settings("hatchling.build", "setuptools.build_meta")(plugin)


CAPABILITIES = '"capabilities": {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []},'
POINT = 'foo = "strands_tool_foo.foo"'
HINT = '"readOnlyHint": True,'
SPOILED: dict[str, tuple[Spoil, str]] = {
    "metadata-version": (settings('dynamic = ["version"]', 'version = "one"'), "bad-metadata"),
    "metadata-no-version": (settings('dynamic = ["version"]\n', ""), "bad-metadata"),
    "metadata-python": (settings('requires-python = ">=3.11"', 'requires-python = "3.11 or so"'), "bad-metadata"),
    "metadata-dependency": (settings("dependencies = [", 'dependencies = ["x y", '), "bad-metadata"),
    "point-name": (settings(POINT, f'{POINT}\nFoo-Two = "strands_tool_foo.foo"'), "bad-tool-name"),
    "point-value": (settings(POINT, f'{POINT}\nbar = "strands_tool_foo/bar"'), "bad-entry-point"),
    "point-module": (settings(POINT, f'{POINT}\nbar = "strands_tool_foo.bar"'), "missing-module"),
    "point-package": (settings(POINT, f'{POINT}\nbar = "elsewhere"'), "missing-module"),
    "point-attribute": (settings(POINT, f'{POINT}\nbar = "strands_tool_foo.foo:bar"'), "missing-attribute"),
    "point-undescribed": (settings(POINT, f'{POINT}\nbar = "strands_tool_foo.foo:answer"'), "manifest-drift"),
    "no-manifest": (remove(MANIFEST), "manifest-missing"),
    "manifest-not-json": (edit(MANIFEST, "{", "{,"), "bad-manifest"),
    "manifest-field": (manifest(lambda document: document.update(tool=[])), "manifest-field"),
    "manifest-type": (authored(family=3), "bad-manifest"),
    "manifest-of-another": (manifest(lambda document: document.update(distribution="x")), "manifest-untrue"),
    "manifest-api": (manifest(lambda document: document.update(api={"min": 2, "max": 3})), "manifest-version"),
    "manifest-newer": (manifest(lambda document: document.update(manifest_version=2)), "manifest-version"),
    "manifest-extra": (
        manifest(lambda document: document["tools"].append({**document["tools"][0], "entry": "a.b", "name": "b"})),
        "manifest-untrue",
    ),
    "manifest-renamed-extra": (
        manifest(lambda document: document["tools"].append({**document["tools"][0], "name": "b"})),
        "manifest-drift",
    ),
    "manifest-without-it": (manifest(lambda document: document.update(tools=[])), "manifest-drift"),
    "stale-description": (edit(MODULE, "Answer the text", "Weigh the text"), "manifest-drift"),
    "stale-schema": (edit(MODULE, "10_000", "20_000"), "manifest-drift"),
    "stale-hint": (edit(MODULE, '"idempotentHint": True', '"idempotentHint": False'), "manifest-drift"),
    "stale-capability": (edit(MODULE, '"network": []', '"network": ["*"]'), "manifest-drift"),
    "input-schema": (code('"type": "string", "maxLength"', '"type": "text", "maxLength"'), "bad-schema"),
    "output-schema": (code('{"text": {"type": "string"', '{"text": {"type": "whole"'), "bad-schema"),
    "schema-pattern": (code('"type": "string", "maxL', '"type": "string", "pattern": "(", "maxL'), "bad-schema"),
    "config-schema": (authored(config_schema={"properties": []}), "bad-schema"),
    "read-only-when": (code('"timeout_s": 10', '"read_only_when": {"required": 1}, "timeout_s": 10'), "bad-schema"),
    "no-description": (described('" "'), "no-description"),
    "long-description": (described(f'"{"word " * 300}"'), "long-description"),
    "bidi-description": (code("Answer the", "Answer \u202ethe"), "hidden-character"),
    "invisible-property": (code("The text.", "The text\u200b."), "hidden-character"),
    "ansi-reason": (authored(category="\u001b[31mred"), "hidden-character"),
    "hidden-key": (code('{"text": {"type"', '{"text\u00ad": {"type"'), "hidden-character"),
    "no-read-only": (code(HINT, ""), "missing-hint"),
    "destructive-unsaid": (
        code(f'{HINT}\n        "destructiveHint": False,', '"readOnlyHint": False,'),
        "missing-hint",
    ),
    "contradiction": (code('"destructiveHint": False', '"destructiveHint": True'), "contradicting-hints"),
    "no-capabilities": (code(CAPABILITIES, ""), "missing-capabilities"),
    "capability-word": (code('"network": []', '"netwrk": []'), "bad-capabilities"),
    "capability-type": (code('"subprocess": False', '"subprocess": []'), "bad-capabilities"),
    "capability-place": (code('"filesystem": []', '"filesystem": ["/"]'), "bad-capabilities"),
    "resources-word": (code('"capabilities": {', '"resources": {"read": []}, "capabilities": {'), "bad-resources"),
    "resources-type": (code('"capabilities": {', '"resources": {"reads": "db"}, "capabilities": {'), "bad-resources"),
    "resources-entry": (code('"capabilities": {', '"resources": {"reads": ["{"]}, "capabilities": {'), "bad-resources"),
    "resources-text": (code('"capabilities": {', '"resources": {"writes": [7]}, "capabilities": {'), "bad-resources"),
    "resources-field": (
        code('"capabilities": {', '"resources": {"writes": ["file:{path}"]}, "capabilities": {'),
        "bad-resources",
    ),
    "engines-form": (code('"capabilities": {', '"engines": "nowhere", "capabilities": {'), "bad-engines"),
    "engines-foreign": (code('"capabilities": {', '"engines": "os:stat", "capabilities": {'), "bad-engines"),
    "requires-distribution": (authored(requires={"distributions": ["x >> 1"]}), "bad-requirement"),
    "requires-python": (authored(requires={"python": "3.11+"}), "bad-requirement"),
    "requires-module": (authored(requires={"modules": ["a-b"]}), "bad-requirement"),
    "requires-os": (authored(requires={"os": ["beos"]}), "bad-requirement"),
    "example-input": (authored(examples=[{"input": {"text": 3}}]), "bad-example"),
    "example-form": (authored(examples=["three small words"]), "bad-example"),
    "example-word": (authored(examples=[{"input": {"text": "a"}, "outptu": "b"}]), "bad-example"),
    "family-with-spaces": (authored(family="My Files!"), "bad-family"),
    "empty-category": (authored(category=""), "bad-family"),
    "no-py-typed": (remove(f"{PACKAGE}/py.typed"), "no-py-typed"),
    "ignored": (ignore("*.json"), "manifest-not-packaged"),
    "ignored-folder": (ignore("/src/strands_tool_foo/strands_tools.json"), "manifest-not-packaged"),
    "other-package": (settings('["src/strands_tool_foo"]', '["src/other"]'), "manifest-not-packaged"),
    "excluded": (
        settings("[tool.hatch.build.targets.sdist]", '[tool.hatch.build]\nexclude = ["*.json"]\n[tool.hatch.x]'),
        "manifest-not-packaged",
    ),
    "setuptools": (setuptools, "manifest-not-packaged"),
    "not-python": (edit(MODULE, "def foo(", "def foo(("), "unreadable-source"),
}
WARNINGS = {"plugin-name", "manifest-field", "long-description", "missing-hint", "missing-capabilities", "no-py-typed"}


def test_a_good_plugin_has_nothing_wrong(check: Check, plugin: Path) -> None:
    done = check(plugin, "--strict")
    assert (done.code, done.out, done.err) == (0, "strands-tool-foo: 1 tool checked, no problems\n", "")


@pytest.mark.parametrize("name", SPOILED)
def test_a_spoiled_copy_fails_exactly_the_check_that_is_meant(check: Check, plugin: Path, name: str) -> None:
    spoil, wanted = SPOILED[name]
    spoil(plugin)
    done = check(plugin, "--json")
    assert {finding["code"] for finding in done.document["findings"]} == {wanted}
    assert done.code == (0 if wanted in WARNINGS else 3)
    assert done.document["ok"] is (done.code == 0)


def test_a_name_beside_the_convention_is_a_hint(check: Check, plugin: Path) -> None:
    settings('name = "strands-tool-foo"', 'name = "foo-for-agents"')(plugin)
    write_manifests(read_project(plugin))
    assert check(plugin).code == 0
    done = check(plugin, "--strict", "--json")
    assert (done.code, [finding["code"] for finding in done.document["findings"]]) == (3, ["plugin-name"])


def test_setuptools_with_its_package_data_is_sound(check: Check, plugin: Path) -> None:
    setuptools(plugin)
    settings(
        "[dependency-groups]", '[tool.setuptools.package-data]\nstrands_tool_foo = ["*.json"]\n[dependency-groups]'
    )(plugin)
    assert check(plugin, "--strict").code == 0


def test_a_build_hook_means_a_committed_manifest(check: Check, plugin: Path) -> None:
    remove(MANIFEST)(plugin)
    settings("[tool.hatch.version]", "[tool.hatch.build.hooks.strands-tools]\n[tool.hatch.version]")(plugin)
    assert check(plugin, "--strict").code == 0


def test_a_tool_that_is_installed_under_the_same_name_is_a_warning(
    check: Check, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    twin(tmp_path / "site", "foo", "somebody-elses")
    monkeypatch.syspath_prepend(tmp_path / "site")
    done = check(plugin, "--json")
    assert (done.code, [finding["code"] for finding in done.document["findings"]]) == (0, ["tool-conflict"])


AT_TOP = "from __future__ import annotations\n"
IMPORTED: dict[str, tuple[str, str, int]] = {
    "raises": ("raise RuntimeError('broken')", "import-failed", 3),
    "exits": ("raise SystemExit(7)", "import-failed", 3),
    "ends": ("import os; os._exit(0)", "import-failed", 3),
    "missing": ("import no_such_module_anywhere", "import-failed", 3),
    "prints": ("print('hello')", "import-prints", 0),
    "prints-below": ("import os; os.write(1, b'hello')", "import-prints", 0),
    "cwd": ("import os, tempfile; os.chdir(tempfile.gettempdir())", "import-changes-process", 3),
    "path": ("import sys; sys.path.append('/nowhere')", "import-changes-process", 3),
    "environment": ("import os; os.environ['FOO'] = '1'", "import-changes-process", 3),
    "thread": (
        "import threading; threading.Thread(target=threading.Event().wait, name='mine').start()",
        "import-leaves-thread",
        3,
    ),
    "daemon": (
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import-leaves-thread",
        0,
    ),
    "slow": ("import time", "import-slow", 0),
    "nothing": ("import decimal", "", 0),
}


@pytest.mark.parametrize("name", IMPORTED)
def test_an_import_with_side_effects_fails_exactly_the_check_that_is_meant(
    check: Check, plugin: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("strands_cli_dev.plugin_check.import_checks.SLOW_SECONDS", 0.0 if name == "slow" else 120.0)
    statement, wanted, exit_code = IMPORTED[name]
    edit(MODULE, AT_TOP, f"{AT_TOP}\n{statement}\n")(plugin)
    assert check(plugin, "--strict").code == 0, "nothing is imported no_person"
    done = check(plugin, "--import", "--json")
    assert {finding["code"] for finding in done.document["findings"]} == ({wanted} if wanted else set())
    assert done.code == exit_code


def test_an_import_that_hangs_is_ended_with_all_it_started(check: Check, plugin: Path, tmp_path: Path) -> None:
    # The grandchild holds stdout open: waiting for its end would never end.
    statement = (
        "import subprocess, sys, threading\n"
        f"child = subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\n"
        "threading.Event().wait()"
    )
    edit(MODULE, AT_TOP, f"{AT_TOP}\n{statement}\n")(plugin)
    # A quiet machine begins the import within three seconds, a loaded one not.
    for seconds in ("3", "30", "300"):
        done = check(plugin, "--import", "--seconds", seconds, "--json")
        assert [finding["code"] for finding in done.document["findings"]] == ["import-hangs"]
        if (tmp_path / "pid").exists():
            break
    assert gone(int((tmp_path / "pid").read_text()))


def test_a_spec_that_is_changed_while_it_is_imported_is_found(check: Check, plugin: Path) -> None:
    end = '\n\nTOOL_SPEC["description"] = "Delete " + "everything."\n'
    text = (plugin / MODULE).read_text(encoding="utf-8")
    (plugin / MODULE).write_text(text + end, encoding="utf-8")
    assert check(plugin).code == 0
    done = check(plugin, "--import")
    assert (done.code, done.err.count("error[")) == (3, 1)
    assert '"Delete everything."' in done.err


def test_what_is_known_without_import_is_compared_for_a_decorated_function(
    check: Check, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    project = make_plugin(NewPlugin(name_plugin("foo"), "function"), tmp_path)
    edit(MODULE, "Answer the text", "Weigh the text")(project)
    done = check(project)
    assert done.code == 3
    assert "/tools/0/description" in done.err


def test_an_installed_distribution_is_checked_by_its_name(
    check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound(tmp_path / "site", "bar", annotations={"readOnlyHint": True}, strands_cli={"capabilities": {}})
    package = tmp_path / "site" / "strands_tool_bar"
    spec = {"annotations": {"readOnlyHint": True}, "strands_cli": {"capabilities": {}}}
    (package / "bar.py").write_text(module_source("bar", **spec))
    (package / "py.typed").touch()
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "site"))
    assert check("Strands_Tool.bar", "--import", "--strict").out == "strands-tool-bar: 1 tool checked, no problems\n"
    (package / "bar.py").write_text(module_source("bar", "Does more.", **spec))
    assert "Does more." in check("strands-tool-bar").err
    (tmp_path / "site" / "strands_tool_bar-1.0.dist-info" / "METADATA").write_text("Name: foo\nVersion: x\n")
    done = check("strands-tool-bar", "--json")
    assert [finding["code"] for finding in done.document["findings"]].count("bad-metadata") == 2


def test_an_unknown_name_says_what_is_close(check: Check, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sound(tmp_path, "bar")
    monkeypatch.syspath_prepend(tmp_path)
    done = check("strands-tool-baz")
    assert done.code == 3
    assert "error[unknown-distribution]" in done.err
    assert "'strands-tool-bar'" in done.err
    assert check("strands-tool-baz", "--json").document["ok"] is False


def test_a_distribution_without_tools_says_so(check: Check) -> None:
    done = check("pytest")
    assert done.code == 3
    assert "pytest" in done.err


def test_a_directory_that_is_not_a_project_is_refused(check: Check, tmp_path: Path) -> None:
    refused = check(f"{tmp_path}/")
    assert (refused.code, "pyproject.toml" in refused.err) == (3, True)


def test_a_stranger_with_broken_metadata_does_not_hide_anything(
    check: Check, plugin: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_distribution(tmp_path / "site", "bad", entry_points=b"[strands_cli.tools]\nfoo\n\xff = \x00\n")
    make_distribution(
        tmp_path / "site", "odd", entry_points={"Odd": "odd"}, manifest=manifest_of("odd", tool("odd", "odd"))
    )
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert check(plugin, "--strict").code == 0


def test_a_hidden_character_is_not_printed_raw(check: Check, plugin: Path) -> None:
    code("Answer the", "Answer \u202ethe")(plugin)
    done = check(plugin)
    assert "U+202E RIGHT-TO-LEFT OVERRIDE" in done.err
    assert "\u202e" not in done.err + done.out
