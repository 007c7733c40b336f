"""The build hook: a wheel has a manifest that is true, or there is no wheel and the author reads why."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.packages.tool_forms import GOOD, MANIFEST

pytestmark = pytest.mark.wheels

CLONE = Path(__file__).parents[2]
SITE = Path(sysconfig.get_path("purelib"))
HATCHLING = ("hatchling", "packaging", "pathspec", "pluggy", "trove-classifiers")
PROJECT = """
[build-system]
requires = ["hatchling", "strands-cli-hatch"]
build-backend = "hatchling.build"

[project]
name = "strands-tool-words"
version = "1.0"

[project.entry-points."strands_cli.tools"]
{name} = "strands_tool_words{attribute}"

[tool.hatch.build.targets.wheel]
packages = ["src/strands_tool_words"]

[tool.hatch.build.hooks.strands-tools]
"""
HOME = "strands_tool_words"


class Project:
    """A plugin's project directory without a manifest."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory / "words"
        self.package = self.directory / "src" / HOME
        self.manifest = self.package / "strands_tools.json"

    def write(self, form: str = "module", options: str = "", name: str = "count_words") -> None:
        source, attribute, _ = GOOD[form]
        self.package.mkdir(parents=True, exist_ok=True)
        (self.package / "__init__.py").write_text(source)
        text = PROJECT.format(name=name, attribute=attribute) + options
        (self.directory / "pyproject.toml").write_text(text)

    def commit(self, **changes: Any) -> None:
        tool = {"name": "count_words", "entry": HOME, **MANIFEST, **changes}
        document = {"manifest_version": 1, "api": {"min": 1, "max": 1}, "distribution": "strands-tool-words"}
        self.manifest.write_text(json.dumps({**document, "tools": [tool]}))

    def build(self, *targets: str, python: str = sys.executable, code: int = 0) -> str:
        kinds = [word for target in targets or ("wheel",) for word in ("-t", target)]
        done = subprocess.run(
            [python, "-P", "-W", "error", "-m", "hatchling", "build", *kinds, "-d", str(self.directory / "dist")],
            cwd=self.directory,
            env={key: value for key, value in os.environ.items() if key in ("PATH", "TMPDIR", "HOME")},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stdout + done.stderr
        return done.stdout + done.stderr

    def in_wheel(self) -> dict[str, Any]:
        with zipfile.ZipFile(next((self.directory / "dist").glob("*.whl"))) as wheel:
            assert wheel.namelist().count(f"{HOME}/strands_tools.json") == 1
            return dict(json.loads(wheel.read(f"{HOME}/strands_tools.json")))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture(scope="module")
def isolated(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the Python of an environment with hatchling and three wheels of this clone, without what they need."""
    root = tmp_path_factory.mktemp("isolated")
    for place in (CLONE, CLONE / "packages" / "strands-cli-dev", CLONE / "packages" / "strands-cli-hatch"):
        run([sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(root)], cwd=place)
    uv = shutil.which("uv", path=str(Path(sys.executable).parent)) or "uv"
    run([uv, "venv", "--quiet", "--python", sys.executable, str(root / "venv")])
    layout = {"base": str(root / "venv"), "platbase": str(root / "venv")}
    site = Path(sysconfig.get_path("purelib", "venv", vars=layout))
    scripts = Path(sysconfig.get_path("scripts", "venv", vars=layout))
    python = str(scripts / Path(sys.executable).name)
    wheels = map(str, root.glob("*.whl"))
    run([uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *wheels])
    for name in HATCHLING:  # links replace a download
        files = metadata.distribution(name).files or ()
        for entry in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            (site / entry).symlink_to(SITE / entry)
    return python


def run(command: list[str], cwd: Path = CLONE) -> str:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def asked(site: Path, *words: str) -> dict[str, Any]:
    environment = {**os.environ, "PYTHONPATH": str(site)}
    command = [sys.executable, "-P", "-m", "strands_cli", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return dict(json.loads(done.stdout))


OPTIONS = """
[tool.hatch.build.hooks.strands-tools.tools.count_words]
family = "text"
examples = [{ input = { text = "a b" } }]
"""


@pytest.mark.parametrize("is_committed", [False, True])
def test_a_wheel_without_the_code_of_its_tools_is_not_built(project: Project, is_committed: bool) -> None:
    project.write()
    if is_committed:
        project.commit()
    # With the forced manifest hatchling does not notice that it finds no package.
    text = (project.directory / "pyproject.toml").read_text()
    include = text.replace(f'packages = ["src/{HOME}"]', 'include = ["other"]')
    (project.directory / "pyproject.toml").write_text(include)
    said = project.build(code=1)
    assert HOME in said
    assert f'packages = ["src/{HOME}"]' in said
    assert not list((project.directory / "dist").glob("*.whl"))
    (project.directory / "pyproject.toml").write_text(text)
    project.build()
    assert project.in_wheel()


def test_a_wheel_without_a_committed_manifest_tells_everything(project: Project, isolated: str, tmp_path: Path) -> None:
    project.write(options=OPTIONS)
    project.build("sdist", "wheel", python=isolated)
    assert not project.manifest.exists()
    with tarfile.open(next((project.directory / "dist").glob("*.tar.gz"))) as source:
        assert f"strands_tool_words-1.0/src/{HOME}/strands_tools.json" in source.getnames()
    site = tmp_path / "site"
    with zipfile.ZipFile(next((project.directory / "dist").glob("*.whl"))) as wheel:
        wheel.extractall(site)
    [tool] = [one for one in asked(site, "list-tools", "--json")["tools"] if one["name"] == "count_words"]
    assert (tool["status"], tool["description"]) == ("available", MANIFEST["description"])
    tool = asked(site, "tools", "show", "count_words", "--json")
    assert tool["source"]["manifest"] == str(site / HOME / "strands_tools.json")
    assert {key: tool[key] for key in MANIFEST} == MANIFEST
    assert tool["family"] == "text"


def test_a_wheel_of_the_source_distribution_has_it_too(project: Project, tmp_path: Path) -> None:
    project.write()
    project.build("sdist")
    shutil.unpack_archive(next((project.directory / "dist").glob("*.tar.gz")), tmp_path / "unpacked", filter="data")
    again = Project(tmp_path)
    again.directory = next((tmp_path / "unpacked").iterdir())
    again.build("wheel")
    assert again.in_wheel()["tools"][0]["description"] == MANIFEST["description"]


def test_a_committed_manifest_goes_in_as_it_is(project: Project) -> None:
    project.write()
    project.commit(category="compute")
    project.build("wheel")
    assert project.in_wheel() == json.loads(project.manifest.read_text())


def test_a_committed_manifest_that_git_ignores_goes_in_too(project: Project) -> None:
    project.write()
    project.commit()
    (project.directory / ".git").mkdir()
    (project.directory / ".gitignore").write_text("strands_tools.json\n")
    project.build("wheel")
    assert project.in_wheel()["tools"][0]["name"] == "count_words"


def test_a_committed_manifest_that_has_drifted_ends_the_build(project: Project) -> None:
    project.write()
    project.commit(description="Delete everything.")
    said = project.build("wheel", code=1)
    assert "error[manifest-drift]" in said
    assert '"Delete everything."' in said
    assert "(/tools/0/description)" in said
    assert "fix: strands plugin manifest --write" in said
    assert "Traceback" not in said
    assert not list((project.directory / "dist").glob("*.whl"))


def test_what_is_not_literal_is_imported_only_where_the_author_allows_it(project: Project) -> None:
    project.write("function")
    said = project.build("wheel", code=1)
    assert "error[bad-plugin]" in said
    assert "'count_words'" in said
    assert "[tool.hatch.build.hooks.strands-tools] import = true" in said
    assert "Traceback" not in said
    project.write("function", "import = true\n")
    project.build("wheel")
    [tool] = project.in_wheel()["tools"]
    assert tool["annotations"] == {"readOnlyHint": True, "destructiveHint": False}
    assert tool["input_schema"]["required"] == ["text"]


def test_an_editable_build_is_checked_and_gets_nothing(project: Project) -> None:
    project.write()
    project.build("wheel:editable")
    with zipfile.ZipFile(next((project.directory / "dist").glob("*.whl"))) as wheel:
        assert not [name for name in wheel.namelist() if "strands_tools" in name]
    project.commit(description="Delete everything.")
    assert "manifest-drift" in project.build("wheel:editable", code=1)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ("imports = true", "'imports'"),
        ('import = "yes"', "'import'"),
        ("[tool.hatch.build.hooks.strands-tools.tools.words]\nfamily = 'x'", "error[bad-plugin]: tools.words: "),
        (
            "[tool.hatch.build.hooks.strands-tools.tools.count_words]\ndescription = 'x'",
            "error[bad-plugin]: tools.count_words.description: ",
        ),
        ("[tool.hatch.build.hooks.strands-tools.tools.count_words]\nfamily = 3", "family"),
    ],
)
def test_a_wrong_option_is_reported(options: str, words: str, project: Project) -> None:
    project.write(options=options)
    said = project.build("wheel", code=1)
    assert words in said
    assert "Traceback" not in said


def test_a_project_that_cannot_be_read_is_reported(project: Project) -> None:
    project.write(name="words")
    said = project.build("wheel", code=1)
    assert "error[manifest-untrue]" in said
    assert "'words'" in said
    assert "'count_words'" in said
    (project.package / "__init__.py").write_text("def (")
    said = project.build("wheel", code=1)
    assert "__init__.py:1" in said
    assert "Traceback" not in said
