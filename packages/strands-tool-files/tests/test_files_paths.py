"""Which paths lead to a file of the workspace, and which lead nowhere, in each of the three ways to resolve them."""

from __future__ import annotations

import errno
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from strands_tool_files import _names, _openat2
from strands_tool_files._directory import DescriptorDirectory, PathDirectory
from strands_tool_files._walk import located

pytestmark = pytest.mark.usefixtures("no_leaked_descriptors")


@pytest.mark.parametrize(
    "path",
    [
        "docs/a.txt",
        "./docs//a.txt",
        "docs/../docs/a.txt",
        "link",
        "dirlink/a.txt",
        "chain",
        "dirlink/../docs/a.txt",
        "{root}/docs/a.txt",
    ],
)
def test_a_path_that_stays_inside_is_read(room, every_way: str, path: str) -> None:
    (room.path / "link").symlink_to("docs/a.txt")
    (room.path / "dirlink").symlink_to("docs")
    (room.path / "chain").symlink_to("docs/../dirlink/../link")
    answer = room.read(path.format(root=room.path))
    assert answer.text == "one\ntwo\nthree\n"


@pytest.mark.parametrize(
    ("path", "error"),
    [
        ("../secret.txt", ("sandbox_violation", "outside")),
        ("docs/../../secret.txt", ("sandbox_violation", "outside")),
        ("{root}/../secret.txt", ("sandbox_violation", "outside")),
        ("/etc/passwd", ("sandbox_violation", "outside")),
        ("@data/../secret.txt", ("sandbox_violation", "outside")),
        ("out", ("sandbox_violation", "outside")),
        ("absolute", ("sandbox_violation", "outside")),
        ("updir/secret.txt", ("sandbox_violation", "outside")),
        ("proc/self/root/etc/passwd", ("sandbox_violation", "outside")),
        ("loop", ("sandbox_violation", "link")),
        ("loop/x", ("sandbox_violation", "link")),
        ("~/x", ("invalid_input", "path")),
        ("a\0b", ("invalid_input", "path")),
        ("a\nb", ("invalid_input", "path")),
        ("\udcff", ("invalid_input", "path")),
        ("docs/a.txt/b", ("invalid_input", "not-a-directory")),
        ("x" * 300, ("invalid_input", "path")),
        ("/".join(["x"] * 2_100), ("invalid_input", "length")),
        ("missing.txt", ("invalid_input", "not-found")),
        ("docs", ("invalid_input", "is-a-directory")),
        (".", ("invalid_input", "is-a-directory")),
        ("docs/..", ("invalid_input", "is-a-directory")),
        ("@nomount/x", ("invalid_input", "not-found")),
    ],
)
def test_every_other_path_is_refused_with_its_reason(room, every_way: str, path: str, error: tuple[str, str]) -> None:
    (room.path / "out").symlink_to("../secret.txt")
    (room.path / "absolute").symlink_to(room.path / "docs" / "a.txt")
    (room.path / "updir").symlink_to("..")
    (room.path / "loop").symlink_to("loop")
    (room.path / "proc").symlink_to("/proc")
    answer = room.read(path.format(root=room.path))
    assert answer.error == error
    assert "the secret outside" not in str(answer)


def test_a_mount_is_reached_by_its_name_and_a_directory_of_that_name_by_dot_slash(room, every_way: str) -> None:
    (room.path / "@data").mkdir()
    (room.path / "@data" / "m.txt").write_text("local")
    assert room.read("@data/m.txt").text == "mounted"
    assert room.read("./@data/m.txt").text == "local"
    assert room.read(str(room.mount / "m.txt")).text == "mounted"
    assert room.write("@data/sub/new.txt").value["path"] == "@data/sub/new.txt"
    assert (room.mount / "sub" / "new.txt").read_text() == "new"


def test_the_root_itself_may_be_reached_through_links(room, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(room.path)
    room.path = tmp_path / "alias"
    assert room.read("docs/a.txt").status == "success"
    assert room.read(str(tmp_path / "workspace" / "docs" / "a.txt")).status == "success"


def test_a_missing_root_is_reported_as_the_operators_problem(room) -> None:
    room.path = room.path / "gone"
    assert room.read("a.txt").error == ("unavailable", "root")


SECRETS = [
    *(
        ".git/config",
        ".GIT/config",
        ".git",
        "sub/.git/HEAD",
        ".g\u200cit/config",
        "GIT~1/config",
        ".git./config",
        ".git::$INDEX/x",
    ),
    *(
        ".env",
        ".env.local",
        ".ENV",
        "deep/.envrc",
        ".ssh/known_hosts",
        "id_rsa",
        "id_ed25519.pub",
        "server.key",
        "CERT.PEM",
    ),
    *(".netrc", ".npmrc", ".aws/credentials", "．env", "store.p12"),
]
OBEYED = [
    *(
        ".github/workflows/ci.yml",
        ".gitlab-ci.yml",
        "Jenkinsfile",
        ".lefthook.yml",
        ".ci/run",
        "x.pth",
        "sub/sitecustomize.py",
    ),
    *(
        "conftest.py",
        "tests/ConfTest.py",
        "strands.lock",
        "strands-policy.yaml",
        "flow.yaml",
        "FLOW.yaml",
        ".strands/runs",
    ),
    *("lib/site-packages/x.py", "evil-1.0.dist-info/entry_points.txt", ".vscode/tasks.json", ".bashrc", "pyvenv.cfg"),
    *("__pycache__/flow.cpython-311.pyc", ".devcontainer/devcontainer.json", ".mcp.json", ".bash_aliases"),
]


@pytest.mark.parametrize("path", SECRETS)
def test_secrets_are_neither_read_nor_written(room, every_way: str, path: str) -> None:
    assert room.read(path).error == ("sandbox_violation", "protected")
    assert room.write(path).error == ("sandbox_violation", "protected")
    assert sorted(entry.name for entry in room.path.iterdir()) == ["docs", "flow.yaml"]


@pytest.mark.parametrize("path", OBEYED)
def test_what_programs_obey_is_not_written(room, every_way: str, path: str) -> None:
    for mode in ("create", "overwrite", "append"):
        assert room.write(path, mode=mode).error == ("sandbox_violation", "protected")
    assert sorted(entry.name for entry in room.path.iterdir()) == ["docs", "flow.yaml"]
    assert room.read("flow.yaml").text == "version: 1\n"


def test_a_link_does_not_get_round_protection(room, every_way: str) -> None:
    (room.path / ".env").write_text("KEY=1")
    (room.path / ".github").mkdir()
    (room.path / "innocent").symlink_to(".env")
    (room.path / "folder").symlink_to(".github")
    (room.path / "harmless.yaml").symlink_to("flow.yaml")
    assert room.read("innocent").error == ("sandbox_violation", "protected")
    (room.path / ".git").mkdir()
    (room.path / ".git" / "config").write_text("token")
    (room.path / "gitlink").symlink_to(".git")
    assert room.read("gitlink/config").error == ("sandbox_violation", "protected")
    assert room.list(path="gitlink").error == ("sandbox_violation", "protected")
    assert room.write("folder/x.yml", create_dirs=False).error == ("sandbox_violation", "protected")
    assert room.write("folder/x.yml").error == ("sandbox_violation", "protected")
    assert room.write("folder/new/x.yml").error == ("sandbox_violation", "protected")
    assert room.write("harmless.yaml").error == ("sandbox_violation", "protected")
    assert not list((room.path / ".github").iterdir())


def test_a_hard_link_does_not_get_round_protection(room, every_way: str) -> None:
    os.link(room.path / "flow.yaml", room.path / "copy.yaml")
    for mode in ("overwrite", "append"):
        assert room.write("copy.yaml", mode=mode).error == ("sandbox_violation", "protected")


def test_a_protected_directory_protects_everything_in_it(room, every_way: str) -> None:
    room.extra = {"workspace": {"root": str(room.path), "protected": [str(room.path / "docs")]}}
    assert room.write("docs/deep/new.txt").error == ("sandbox_violation", "protected")
    assert room.write("docs2.txt").status == "success"


def test_ordinary_names_that_look_similar_are_not_protected(room) -> None:
    for path in (
        "environment.yml",
        "gitignore",
        ".gitignore",
        "keys.txt",
        "my.env.txt",
        "config.py",
        "monkey",
        "pem.md",
    ):
        assert room.write(path).status == "success", path
        assert room.read(path).text == "new"


NAMES = st.sampled_from(["a", "b", "c"])
TARGETS = st.lists(st.sampled_from(["a", "b", "c", "..", "."]), min_size=1, max_size=5).map("/".join)


@pytest.mark.skipif(not _openat2.is_available(), reason="openat2 is the oracle")
@settings(max_examples=250, deadline=None, database=None, derandomize=True)
@pytest.mark.hostile
@given(
    links=st.dictionaries(st.tuples(NAMES, NAMES), TARGETS, max_size=5),
    path=st.lists(st.sampled_from(["a", "b", "c", ".."]), min_size=1, max_size=6),
)
def test_the_walk_agrees_with_the_kernel(links: dict[tuple[str, str], str], path: list[str]) -> None:
    with tempfile.TemporaryDirectory() as base:
        root = Path(base, "outer", "root")
        for name in "abc":
            (root / name).mkdir(parents=True)
        for (directory, name), target in links.items():
            (root / directory / name).symlink_to(target)
        for name in "abc":
            for child in "abc":
                if (name, child) not in links:
                    (root / name / child).write_text(f"{name}{child}")
        directory = DescriptorDirectory.at(str(root))
        try:
            assert _walk_outcome(directory, path) == _kernel_outcome(root, path)
        finally:
            directory.close()


def _kernel_outcome(root: Path, path: list[str]) -> object:
    descriptor = os.open(root, os.O_PATH)
    try:
        found = _openat2.open_beneath(descriptor, "/".join(path), os.O_PATH, follow_links=True)
    except OSError as error:
        return error.errno
    finally:
        os.close(descriptor)
    try:
        return os.fstat(found).st_ino
    finally:
        os.close(found)


def _walk_outcome(directory: DescriptorDirectory, path: list[str]) -> object:
    try:
        with located(directory, tuple(path)) as place:
            return place.parent.lstat(place.name or ".").st_ino
    except OSError as error:
        return error.errno


@given(name=st.text(max_size=20))
@settings(max_examples=200, deadline=None, database=None, derandomize=True)
def test_folding_a_name_twice_changes_nothing_more(name: str) -> None:
    once = _names.fold(name)
    assert _names.fold(once) == once


@pytest.mark.parametrize("kind", [PathDirectory, DescriptorDirectory])
def test_a_directory_never_follows_a_link_by_itself(room, kind: type) -> None:
    (room.path / "filelink").symlink_to("docs/a.txt")
    (room.path / "dirlink").symlink_to("docs")
    directory = kind.at(str(room.path))
    try:
        for use in (lambda: directory.open("filelink", os.O_RDONLY), lambda: directory.enter("dirlink")):
            with pytest.raises(OSError) as caught:
                use()
            assert caught.value.errno in (errno.ELOOP, errno.ENOTDIR)
    finally:
        directory.close()


def test_openat2_reports_the_kernels_reason(room) -> None:
    if not _openat2.is_available():
        pytest.skip("this system has no openat2")
    descriptor = os.open(room.path, os.O_PATH)
    try:
        with pytest.raises(OSError) as caught:
            _openat2.open_beneath(descriptor, "../secret.txt", os.O_RDONLY)
    finally:
        os.close(descriptor)
    assert caught.value.errno == errno.EXDEV


@pytest.mark.parametrize("way", ["itself", "below", "link"])
def test_a_mount_of_a_protected_folder_stays_protected(room, tmp_path: Path, way: str) -> None:
    folder = tmp_path / ".aws" / "sub" if way == "below" else tmp_path / ".aws"
    folder.mkdir(parents=True)
    (folder / "credentials").write_text("key")
    (tmp_path / "link").symlink_to(folder)
    room.mount = tmp_path / "link" if way == "link" else folder
    refused = ("sandbox_violation", "protected")
    assert room.read("@data/credentials").error == refused
    assert room.write("@data/new").error == refused
    assert room.write("@data/sub/new").error == refused
    assert room.list(path="@data").error == refused
    assert sorted(path.name for path in folder.iterdir() if path.is_file()) == ["credentials"]


def test_a_mount_of_a_folder_that_programs_obey_is_read_and_not_written(room, tmp_path: Path) -> None:
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "ci.yml").write_text("on: push")
    room.mount = tmp_path / ".github"
    assert room.read("@data/ci.yml").text == "on: push"
    assert room.write("@data/new.yml").error == ("sandbox_violation", "protected")
