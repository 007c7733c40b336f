"""The file for CI that publishes a distribution, with attestations of who built it."""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath

from strands_cli.catalog.distributions import normalise
from strands_cli.quick_dataclass import dataclass

WORKFLOWS = ".github/workflows"
PUBLISHER = "pypa/gh-action-pypi-publish"
_MAX_CONFIG_BYTES = 100_000
_ORIGIN = re.compile(r'\[remote "origin"\][^\[]*?^\s*url\s*=\s*(\S+)', re.MULTILINE)
_GITHUB = re.compile(r"(?:https://|ssh://git@|git@)github\.com[/:]([\w.-]+)/([\w.-]+?)(?:\.git)?/?")
_SAFE_FOLDER = re.compile(r"[\w./-]*")

_TEXT = """\
# Publishes {name} when a tag such as {tag}1.2.3 is pushed, without a password: the index trusts this file.
# Before the first tag, add a trusted publisher to the project in the index:
#   {repository}workflow {file}, environment pypi
# It also stores an attestation beside each file, which says that this workflow of this repository has built it.
# The owners of actions can move their tags; a tool such as Dependabot replaces tags by the ids of commits.
name: Publish {name}

on:
  push:
    tags: ["{tag}*"]

permissions: {{}}

jobs:
  build:
    runs-on: ubuntu-latest
    permissions:
      contents: read
    steps:
      - uses: actions/checkout@v5.0.0
        with:
          persist-credentials: false
      - uses: actions/setup-python@v6.0.0
        with:
          python-version: "3.13"
      - run: python -m pip install build "strands-cli[publish]"
      - run: strands plugin publish --check {folder}
      - run: python -m build --outdir dist {folder}
      - uses: actions/upload-artifact@v4.6.2
        with:
          name: dist
          path: dist/

  publish:
    needs: build
    runs-on: ubuntu-latest
    environment: pypi
    permissions:
      id-token: write
    steps:
      - uses: actions/download-artifact@v5.0.0
        with:
          name: dist
          path: dist/
      - uses: {publisher}@v1.13.0
"""


@dataclass(frozen=True, slots=True)
class CiFile:
    """A file for GitHub Actions.

    Attributes:
        path: Its place in the repository, with `/`.
        text: Its text.
        root: The repository: the next folder upward with `.git`; else that of the project.
        repository: `OWNER/NAME`, if its `origin` is on GitHub; else None.
    """

    path: str
    text: str
    root: Path
    repository: str | None


def make_ci_file(directory: Path, name: str) -> CiFile:
    """Return the file for CI that publishes a project.

    Args:
        directory: The project, absolute.
        name: The name of the distribution.
    """
    root = next((one for one in (directory, *directory.parents) if (one / ".git").exists()), directory)
    folder = directory.relative_to(root).as_posix()
    plain = normalise(name)
    alone = folder == "."
    # The folder is part of a command.
    shown = folder if _SAFE_FOLDER.fullmatch(folder) else "."
    path = PurePosixPath(WORKFLOWS, "publish.yml" if alone else f"publish-{plain}.yml")
    repository = _repository(root)
    text = _TEXT.format(
        name=plain,
        tag="v" if alone else f"{plain}-v",
        repository=f"repository {repository}, " if repository else "your repository, ",
        file=path.name,
        folder=shown,
        publisher=PUBLISHER,
    )
    return CiFile(str(path), text, root, repository)


def _repository(root: Path) -> str | None:
    try:
        with (root / ".git" / "config").open("rb") as opened:
            text = opened.read(_MAX_CONFIG_BYTES).decode("utf-8", "replace")
    except OSError:
        return None
    origin = _ORIGIN.search(text)
    found = _GITHUB.fullmatch(origin[1]) if origin else None
    return f"{found[1]}/{found[2]}" if found else None
