"""Cold commands stay cold: they import neither the SDK nor any plugin, also with a plugin whose import is a trap."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.adoption.kit import FILE, adopt

CLONE = Path(__file__).parent.parent
QUICKSTART = CLONE / "examples" / "quickstart.yaml"
TRAP = "strands_tool_trap"
# What no cold command may import; jsonschema and pydantic have their own rules below.
NEVER = {
    "strands",
    TRAP,
    "asyncio",
    "rich",
    "boto3",
    "botocore",
    "mcp",
    "openai",
    "httpx",
    "sqlite3",
    "importlib_metadata",
}
# What reads no workflow needs none of these; Typer from 0.29 imports pydantic for the options of any command, so these
# are answered without it (docs/decisions/0001).
WITHOUT_A_SPEC = {"jsonschema", "jinja2", "packaging", "yaml", "pydantic", "typer", "importlib.metadata"}


@dataclass(frozen=True)
class Ran:
    """What a cold command printed and imported."""

    code: int
    output: str
    errors: str
    modules: frozenset[str]

    def imported(self, names: set[str]) -> set[str]:
        """Return which of the names, or modules below them, were imported."""
        return {name for name in names for module in self.modules if module == name or module.startswith(f"{name}.")}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """Install a tool distribution whose import leaves a file behind and raises."""
    site = tmp_path / "site"
    dist = site / f"{TRAP}-1.0.dist-info"
    dist.mkdir(parents=True)
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: strands-tool-trap\nVersion: 1.0\n")
    (dist / "entry_points.txt").write_text(f"[strands_cli.tools]\ntrap = {TRAP}\n")
    (dist / "RECORD").write_text(f"{TRAP}/__init__.py,,\n{TRAP}-1.0.dist-info/METADATA,,\n")
    (site / TRAP).mkdir()
    (site / TRAP / "__init__.py").write_text(
        'from pathlib import Path\nPath(__file__).with_name("sprung").touch()\nraise SystemExit("the trap sprang")\n'
        'TOOL_SPEC = {"name": "trap", "description": "A trap.", "inputSchema": {"json": {"type": "object"}}}\n'
        "def trap(tool, **kwargs): ...\n"
    )
    return site


def run_cold(site: Path, *arguments: str, **env: str) -> Ran:
    """Run `strands` with the trap installed, and read from `-X importtime` which modules it imported."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("STRANDS_", "PYTHON"))}
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "strands_cli", *arguments],
        cwd=site.parent,
        env={**environment, "PYTHONPATH": str(site), "HOME": str(site.parent), "PYTHONDONTWRITEBYTECODE": "1", **env},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    modules = re.findall(r"^import time: .*\| +(\S+)$", ran.stderr, re.M)
    errors = "\n".join(line for line in ran.stderr.splitlines() if not line.startswith("import time:"))
    return Ran(ran.returncode, ran.stdout, errors, frozenset(modules))


TRAPPED = """\
version: 2
name: trapped
runtime: {provider: bedrock, model_id: some}
agents: {one: {prompt: Answer., tools: [trap]}}
pattern: {type: chain, config: {steps: [{agent: one, input: Begin.}]}}
"""
COLD = {
    "version": ["--version"],
    "help": ["--help"],
    "list-tools": ["list-tools", "--json"],
    "list-tools table": ["list-tools"],
    "list-tools source": ["list-tools", "--source"],
    "tools list": ["tools", "list"],
    "tools show": ["tools", "show", "trap"],
    "validate": ["validate", str(QUICKSTART)],
    "plan": ["plan", str(QUICKSTART)],
    "plan json": ["plan", "--format", "json", str(QUICKSTART)],
    "explain": ["explain", str(QUICKSTART)],
    "schema": ["workflows", "schema"],
    "new": ["new", "first"],
    "explain supported": ["explain", "supported"],
    "completion": ["completion", "bash"],
}


@pytest.mark.parametrize("name", COLD)
def test_a_cold_command_imports_neither_the_sdk_nor_a_plugin(name: str, site: Path) -> None:
    ran = run_cold(site, *COLD[name])
    assert ran.code == 0, ran.output + ran.errors
    assert "encodings" in ran.modules, "the list of imports was read"
    assert ran.imported(NEVER) == set()
    assert not (site / TRAP / "sprung").exists()
    assert "trap sprang" not in ran.output + ran.errors


def test_a_plan_that_a_lock_checks_is_as_cold(site: Path) -> None:
    flow = site.parent / "flow.yaml"
    flow.write_text(TRAPPED)
    written = run_cold(site, "lock")
    assert written.code == 0, written.output + written.errors
    planned = run_cold(site, "plan", str(flow))
    assert planned.code == 0, planned.output + planned.errors
    assert planned.imported({"tomllib"}), "the lock was read"
    assert planned.imported(NEVER) == set()


@pytest.mark.parametrize("name", ["version", "help", "list-tools", "list-tools table", "tools list"])
def test_a_command_that_reads_no_workflow_imports_neither_typer_nor_a_schema_library(name: str, site: Path) -> None:
    assert run_cold(site, *COLD[name]).imported(WITHOUT_A_SPEC) == set()


def test_workflow_files_are_checked_without_typer_and_what_finds_distributions(site: Path) -> None:
    assert run_cold(site, *COLD["validate"]).imported({"typer", "click", "importlib.metadata"}) == set()


@pytest.mark.parametrize(("named", "imported"), [(None, False), ("", True), ("other", True), ("__all__", False)])
def test_plugins_of_pydantic_are_imported_only_where_the_environment_allows_them(
    named: str | None, imported: bool, site: Path
) -> None:
    dist = site / "guest-1.0.dist-info"
    dist.mkdir()
    (dist / "METADATA").write_text("Metadata-Version: 2.1\nName: guest\nVersion: 1.0\n")
    (dist / "entry_points.txt").write_text("[pydantic]\nguest = guest:plugin\n")
    (site / "guest.py").write_text(
        "class Plugin:\n    def new_schema_validator(self, *args, **kwargs):\n        return None, None, None\n"
        "plugin = Plugin()\n"
        "print('imported')\n"
    )
    env = {} if named is None else {"PYDANTIC_DISABLE_PLUGINS": named}
    ran = run_cold(site, "validate", str(QUICKSTART), **env)
    assert ran.code == 0, ran.errors
    assert ("imported\n" in ran.output) is imported


def test_version_is_answered_before_typer_is_imported(site: Path) -> None:
    assert run_cold(site, "--version").imported({"typer", "click", "json", "inspect"}) == set()


@pytest.mark.parametrize("name", ["list-tools", "list-tools table", "tools show"])
def test_adopted_tools_are_as_cold(name: str, site: Path) -> None:
    (site / f"{TRAP}-1.0.dist-info" / "entry_points.txt").unlink()
    config = site.parent / "config" / "strands-cli"
    adopt(config / FILE, site, {"trap": TRAP}, "strands-tool-trap")
    ran = run_cold(site, *COLD[name], XDG_CONFIG_HOME=str(config.parent), APPDATA=str(config.parent))
    assert ran.code == 0, ran.output + ran.errors
    assert ran.imported({"strands_cli.catalog.adopted.adopted_file"}), "the adoption file was read"
    assert ran.imported(NEVER) == set()
    assert not (site / TRAP / "sprung").exists()
    if name.startswith("list-tools"):
        assert "trap" in ran.output
        assert ran.imported(WITHOUT_A_SPEC | {"secrets", "strands_cli.catalog.source"}) == set()


def test_the_trap_is_listed_so_that_the_other_tests_prove_something(site: Path) -> None:
    tools = json.loads(run_cold(site, "list-tools", "--json").output)["tools"]
    assert "trap" in {tool["name"] for tool in tools}


def test_rows_are_refused_without_the_sdk(site: Path) -> None:
    rows = site.parent / "rows.csv"
    rows.write_text("no_such_input\n1\n")
    ran = run_cold(site, "batch", str(QUICKSTART), str(rows))
    assert ran.code == 3, ran.output + ran.errors
    assert ran.imported({"strands", TRAP, "openai", "httpx", "mcp", "sqlite3"}) == set()


def test_a_run_imports_nothing_of_pages_indexes_or_authors(site: Path) -> None:
    ran = run_cold(site, "run", str(QUICKSTART), "--quiet", "--out", str(site.parent / "out"))
    assert (ran.code, bool(ran.imported({"strands", "strands_cli.engine.plan_execution"}))) == (0, True), ran.errors
    assert (
        ran.imported({"strands_cli_ui", "strands_cli_dev", "strands_cli_index", "markdown_it", "strands_cli.plugins"})
        == set()
    )


def test_running_the_trap_springs_it(site: Path) -> None:
    ran = run_cold(site, "tools", "run", "trap", "--input", "{}")
    assert ran.code != 0
    assert "the trap sprang" in ran.output + ran.errors
    assert (site / TRAP / "sprung").exists()
