"""The house keeps its own rules: names, walls, locks, and nothing of one machine in the tree."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from strands_cli.default_parts import COMMANDS, OURS
from tests.golden import check_golden

# It reads every source.
pytestmark = pytest.mark.docs

CLONE = Path(__file__).parent.parent
SOURCE = CLONE / "src" / "strands_cli"
MODULES = sorted(
    path
    for place in (SOURCE, CLONE / "bench", CLONE / "scripts", *CLONE.glob("packages/*/src"))
    for path in place.rglob("*.py")
)
FUNCTION_LINES = 60
# Each has commands of the program. The needs of workers are not in the lock of a clone, but in that of `postgres`.
COMMAND_DISTRIBUTIONS = set(OURS[COMMANDS].values()) - {"strands-cli-workers"}

# Each exception says why the rule would make this place worse.
LONG_FUNCTIONS: dict[str, str] = {}

UNIX_ONLY = {"fcntl", "grp", "pwd", "pty", "resource", "syslog", "termios", "tty"}
VAGUE_NAMES = re.compile(r"(Manager|Helper|Utils?|Base|Impl)$")


def name_of(path: Path) -> str:
    return path.relative_to(CLONE).as_posix()


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def tracked_files() -> Iterator[Path]:
    """Yield the text files that are, or would be, in the repository."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=CLONE,
        capture_output=True,
        check=True,
        encoding="utf-8",
    )
    for name in listing.stdout.split("\0"):
        path = CLONE / name
        if name and path.is_file() and b"\0" not in path.read_bytes()[:1024]:
            yield path


def test_no_function_is_longer_than_the_house_allows() -> None:
    too_long = {
        f"{name_of(path)}:{node.name}": length
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and (length := (node.end_lineno or node.lineno) - node.lineno + 1) > FUNCTION_LINES
    }
    assert too_long.keys() - LONG_FUNCTIONS.keys() == set(), too_long


def test_every_module_opens_with_a_sentence() -> None:
    silent = [
        name_of(path) for path in MODULES if not (ast.get_docstring(tree_of(path)) or "").split("\n")[0].endswith(".")
    ]
    # A colon introduces the usage lines of a program.
    assert [name for name in silent if name.startswith(("src/", "packages/"))] == []


def test_no_class_has_a_name_that_says_nothing() -> None:
    vague = [
        f"{name_of(path)}:{node.name}"
        for path in MODULES
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ClassDef) and VAGUE_NAMES.search(node.name)
    ]
    assert vague == []


def test_no_module_needs_a_unix_only_module_to_be_imported() -> None:
    unguarded = [
        f"{name_of(path)}:{node.lineno}"
        for path in MODULES
        for node in tree_of(path).body  # a guard is a `try` or an `if`, so what is bare at the top has none
        if isinstance(node, ast.Import | ast.ImportFrom) and UNIX_ONLY & imported_roots(node)
    ]
    assert unguarded == []


def without_docstrings(text: str) -> str:
    """Return the code without docstrings and comments, where an example may name a tool."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
            node
        ):
            node.body[0] = ast.Pass()
    return ast.unparse(ast.fix_missing_locations(tree))


def imported_roots(node: ast.Import | ast.ImportFrom) -> set[str]:
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names]
    return {name.split(".")[0] for name in names}


def test_the_core_does_not_know_the_first_party_tools() -> None:
    packages = [path.parent.name for path in CLONE.glob("packages/strands-tool-*/pyproject.toml")]
    names = re.compile("|".join(re.escape(word) for name in packages for word in (name, name.replace("-", "_"))))
    texts = {name_of(path): path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    named = {name: text for name, text in texts.items() if names.search(text)}
    knowing = [name for name, text in named.items() if names.search(without_docstrings(text))]
    assert named
    assert packages
    assert knowing == []


def test_generated_reference_pages_are_what_the_code_says() -> None:
    ran = subprocess.run(
        [sys.executable, "scripts/make_reference.py", "--check"], cwd=CLONE, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


PUBLIC_MODULES = [
    "strands_cli",
    "strands_cli.api",
    "strands_cli.workflow.builder",
    "strands_cli.metadata",
    "strands_cli_dev",
]


PUBLIC_NAMES = """
import importlib, sys
module = importlib.import_module(sys.argv[1])
own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
names = getattr(module, "__all__", None) or [*own, *getattr(module, "_PUBLIC", ())]
print(*sorted(name for name in names if not name.startswith("_")), sep="\\n")
"""


def test_public_names_are_pinned() -> None:
    """Read the names in a fresh interpreter each, so that no other test's imports show."""
    lines = []
    for module in filter(find_spec, PUBLIC_MODULES):
        program = [sys.executable, "-c", PUBLIC_NAMES, module]
        ran = subprocess.run(program, capture_output=True, text=True, check=True)
        lines += [f"{module}.{name}\n" for name in ran.stdout.split()]
    check_golden("public-names.txt", "".join(lines))


def test_a_package_has_names_only_where_documents_promise_them() -> None:
    """All other imports name the module that defines: programs that read imports see the real way."""
    promised = {*PUBLIC_MODULES, "strands_cli.hooks", "strands_cli.app", "strands_cli.cli"}  # where the program begins
    with_names = {
        ".".join(path.parent.relative_to(SOURCE.parent).parts)
        for path in SOURCE.rglob("__init__.py")
        if len(tree_of(path).body) > 1
    }
    assert with_names <= promised
    assert [name_of(stub) for stub in SOURCE.rglob("__init__.pyi")] == []


def test_nothing_of_one_machine_is_in_the_tree() -> None:
    # Written apart, so that this file does not hold what it looks for.
    private = re.compile(
        "|".join((r"(?<!\w)/" + "work/", "py" + r"pi\.org", "python" + "hosted", "registry" + r"\.npm"))
    )
    found = [
        f"{name_of(path)}:{number}"
        for path in tracked_files()
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if private.search(line)
    ]
    assert found == []


def test_the_formatter_formats_every_line() -> None:
    skipped = re.compile(r"#\s*(fmt|yapf):\s*(skip|off|disable)\b")
    found = [
        f"{name_of(path)}:{number}"
        for path in tracked_files()
        if path.suffix in (".py", ".pyi")
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if skipped.search(line)
    ]
    assert found == []


def locked(name: str) -> dict[str, str]:
    """Return the versions that a lock in `constraints/` pins, by normalised name."""
    text = (CLONE / "constraints" / name).read_text(encoding="utf-8")
    assert "://" not in text
    pins = re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\\n]+)([^\n]*\\\n)?(    --hash)?", text, re.M)
    assert all(hashes for *_, hashes in pins), "every pin has hashes"
    return {canonicalize_name(pin): version for pin, version, *_ in pins}


# Groups of `pyproject.toml` with a lock of their own, for an environment of their own.
OWN_LOCKS = ("browser", "coverage", "deploy", "docs", "postgres")


@pytest.mark.parametrize("lock", ["run.txt", "dev.txt"])
def test_a_lock_fits_every_direct_dependency(lock: str) -> None:
    pins = locked(lock)
    tools = [path.parent for path in CLONE.glob("packages/strands-tool-*/pyproject.toml")]
    commands = [CLONE / "packages" / name for name in COMMAND_DISTRIBUTIONS]
    for place in [CLONE, *tools, *commands]:
        metadata = tomllib.loads((place / "pyproject.toml").read_text(encoding="utf-8"))
        wanted = list(metadata["project"]["dependencies"])
        if lock == "dev.txt":
            wanted += [
                entry
                for name, group in metadata.get("dependency-groups", {}).items()
                for entry in group
                if isinstance(entry, str) and name not in OWN_LOCKS
            ]
        for requirement in map(Requirement, wanted):
            assert requirement.specifier, f"{place.name}: {requirement} has no lower bound"
            if requirement.name == "strands-cli":  # it is this clone's own
                assert place in commands or place.name == "strands-tool-spec-verify", f"{place.name} needs no core"
                continue
            if requirement.name.startswith(("strands-tool-", "strands-cli-")):  # these too
                continue
            if (lock, requirement.name) == ("run.txt", "pytest"):  # the standard tests need it, and no command
                continue
            assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), (
                f"{requirement}: nox -s lock"
            )


@pytest.mark.parametrize("group", OWN_LOCKS)
def test_the_lock_of_a_group_fits_and_agrees_with_the_development_environment(group: str) -> None:
    pins, dev = locked(f"{group}.txt"), locked("dev.txt")
    groups = tomllib.loads((CLONE / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    for requirement in map(Requirement, groups[group]):
        assert requirement.specifier.contains(pins[canonicalize_name(requirement.name)]), "nox -s lock"
    assert {name: pins[name] for name in pins.keys() & dev.keys()} == {
        name: dev[name] for name in pins.keys() & dev.keys()
    }


def test_what_a_run_needs_is_part_of_the_development_environment() -> None:
    assert locked("run.txt").items() <= locked("dev.txt").items()


def test_an_old_interpreter_can_read_dev_py_far_enough_to_print_its_error() -> None:
    ast.parse((CLONE / "dev.py").read_text(encoding="utf-8"), feature_version=(3, 7))


def test_changelog_fragments_name_their_distribution() -> None:
    names = {"strands-cli", *(path.parent.name for path in CLONE.glob("packages/*/pyproject.toml"))}
    for fragment in (CLONE / "changelog.d").glob("*.md"):
        fits = re.fullmatch(r"\+([a-z-]+)\.[a-z0-9-]+\.(added|changed|fixed|removed|security)\.md", fragment.name)
        assert fits, f"{fragment.name}: name it +DISTRIBUTION.SUBJECT.added|changed|fixed|removed|security.md"
        assert fits[1] in names, fragment.name
        assert fragment.read_text(encoding="utf-8").startswith(f"{fits[1]}: "), fragment.name


def test_the_changelog_has_a_line_of_each_distribution() -> None:
    text = (CLONE / "CHANGELOG.md").read_text(encoding="utf-8")
    lines = [line.removeprefix("- ").partition(": ")[0] for line in text.splitlines() if line.startswith("- ")]
    named = {name for line in lines for name in line.split(", ")}
    assert named == {"strands-cli", *(path.parent.name for path in CLONE.glob("packages/*/pyproject.toml"))}


LINT = "from importlinter.cli import lint_imports_command; lint_imports_command()"
SPOILED = {
    "engine/upward.py": ("from strands_cli.cli import main", "layers"),
    "app/upward.py": ("from strands_cli import api", "layers"),
    "hooks/upward.py": ("from strands_cli.planning import plan", "layers"),
    "catalog/upward.py": ("from strands_cli import workflow", "layers"),
    "engine/sdk.py": ("def late() -> None:\n    import strands", "sdk"),
    "catalog/favourite.py": ("import strands_tool_files", "no-tools-inside"),
    "cli/favourite.py": ("import strands_cli_ui.web_app", "no-tools-inside"),
    "workflow/sections.py": ("from strands_cli.workflow import model", "acyclic"),
    "attic/__init__.py": ("", "layers"),
}


@pytest.mark.parametrize("name", SPOILED)
def test_the_import_contracts_notice(name: str, tmp_path: Path) -> None:
    text, contract = SPOILED[name]
    shutil.copytree(CLONE / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    spoiled = tmp_path / "src" / "strands_cli" / name
    spoiled.parent.mkdir(exist_ok=True)
    spoiled.write_text(f'"""Spoiled."""\n{text}\n', encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-c", LINT, "--no-cache", "--config", str(CLONE / "pyproject.toml"), "--contract", contract],
        cwd=tmp_path / "src",
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "PYTHONPATH": f"{tmp_path / 'src'}:{CLONE}", "PYTHONWARNINGS": "default"},
    )
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "BROKEN" in ran.stdout or "exhaustive" in ran.stdout + ran.stderr, ran.stdout + ran.stderr


# Private names of others that a test replaces, and why nothing public does the same.
REPLACED = {"_tracer_instance": "the SDK makes its one tracer from the first provider, and has no way to make another"}


def test_no_test_replaces_a_private_name() -> None:
    """Ruff finds attributes; these are names in strings."""
    found = {
        name
        for place in (CLONE / "tests", *CLONE.glob("packages/*/tests"))
        for path in place.rglob("*.py")
        if re.search(r"\b(set|del)attr\b", path.read_text(encoding="utf-8"))
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("setattr", "delattr")
        for argument in node.args[:2]
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
        if re.match(r"_[A-Za-z]", name := argument.value.rpartition(".")[2])
    }
    assert found == REPLACED.keys()
