from __future__ import annotations

import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from strands_cli.catalog.requirements import satisfies, unmet
from strands_cli.catalog.scan import scan
from tests.distributions import make_distribution

RELEASES = st.lists(st.integers(0, 12), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
CLAUSES = st.builds(str.__add__, st.sampled_from([">=", "<=", "==", "!=", "<", ">"]), RELEASES)


@settings(deadline=None)
@example("1.2", "==1.2.0")
@example("2", ">=2.0.0, <2.0.1")
@given(RELEASES, st.lists(CLAUSES, min_size=1, max_size=3).map(", ".join))
def test_comparing_by_hand_equals_packaging(version: str, specifier: str) -> None:
    assert satisfies(version, specifier) == SpecifierSet(specifier).contains(Version(version), prereleases=True)


@pytest.mark.parametrize(
    ("version", "specifier", "expected"),
    [
        ("1.5", "~=1.2", True),
        ("2.0rc1", ">=2", False),
        ("2.0rc1", ">=2.0a1", True),
        ("1.2.3", "==1.2.*", True),
        ("1.0+local", "==1.0", True),
        ("1.0+local", "==1.0+other", False),
        ("1.0+local", ">1.0", False),
        ("1!0.5", ">=1", True),
        ("1!0.5", "<2", False),
        ("1.0.dev1", "<1.0", False),
        ("1.0.post1", ">1.0", False),
    ],
)
def test_what_is_no_plain_release_goes_to_packaging(version: str, specifier: str, expected: bool) -> None:
    assert satisfies(version, specifier) is expected


@pytest.mark.parametrize(("version", "specifier"), [("1.0", "newest"), ("not a version!", ">=1")])
def test_what_cannot_be_compared_is_a_value_error(version: str, specifier: str) -> None:
    with pytest.raises(ValueError):
        satisfies(version, specifier)


EXTRAS = """Metadata-Version: 2.1
Name: Some.Thing
Version: 2.5
Provides-Extra: fast-io
Provides-Extra: full
Provides-Extra: old
Requires-Dist: nowhere; python_version < "3"
Requires-Dist: always-here-or-not
Requires-Dist: some.thing>=2; extra == "fast-io"
Requires-Dist: absent; extra == "full"
Requires-Dist: some-thing<2; extra == "old"
"""


@pytest.mark.parametrize(
    ("metadata", "part"),
    [
        (b"Name: some-thing\nProvides-Extra: full\nSummary: \xff\n", None),
        (b"Name: some-thing\nProvides-Extra: full\nRequires-Dist: what is this\n", "requirements cannot be read"),
        (b"\xff\xfe", "has no extra 'full'"),
    ],
    ids=["not-utf8", "malformed", "nothing"],
)
def test_damaged_metadata_of_a_distribution_is_a_missing_condition(
    tmp_path: Path, metadata: bytes, part: str | None
) -> None:
    (make_distribution(tmp_path, "some-thing", "2.5") / "METADATA").write_bytes(metadata)
    found = unmet({"distributions": ["some-thing[full]"]}, scan([str(tmp_path)]))
    assert [part in phrase for phrase in found] == ([] if part is None else [True])


@pytest.mark.parametrize(
    ("requires", "missing"),
    [
        ({}, []),
        ({"python": ">=3.11"}, []),
        ({"python": ">=99"}, ["Python >=99 (this is "]),
        ({"python": "the latest"}, ["that cannot be compared"]),
        ({"os": ["linux", "darwin", "windows"]}, []),
        ({"os": ["plan9"]}, ["the operating system plan9 (this is "]),
        ({"env": ["NO_SUCH_VARIABLE_HERE"]}, ["the environment variable NO_SUCH_VARIABLE_HERE"]),
        ({"env": ["A_VARIABLE"]}, []),
        ({"modules": ["present", "present.inner", "sys", "json.decoder"]}, []),
        ({"modules": ["absent", "present.absent"]}, ["the module 'absent'", "the module 'present.absent'"]),
        ({"modules": ["present.\0", "../present"]}, ["which cannot be one", "which cannot be one"]),
        ({"distributions": ["Some.Thing", "some-thing>=2,<3", "some_thing ~= 2.0"]}, []),
        ({"distributions": ["some-thing>=3"]}, ["'some-thing>=3' (2.5 is installed)"]),
        ({"distributions": ["other"]}, ["pip install 'other'"]),
        ({"distributions": ["other; python_version < '3'", "some-thing[Fast_IO]>=2"]}, []),
        ({"distributions": ["some-thing[nosuch]"]}, ["'some-thing[nosuch]', which has no extra 'nosuch'"]),
        ({"distributions": ["some-thing[full]"]}, ["'absent' is missing or of another version: pip install"]),
        ({"distributions": ["some-thing[old]"]}, ["'some-thing' is missing or of another version"]),
        ({"distributions": ["some-thing[fast-io]>=3"]}, ["(2.5 is installed)"]),
        ({"distributions": ["!!"]}, ["not a PEP 508 requirement"]),
        ({"python": ">=99", "modules": ["absent"]}, ["Python >=99", "the module 'absent'"]),
    ],
)
def test_each_condition_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requires: dict[str, object], missing: list[str]
) -> None:
    monkeypatch.setenv("A_VARIABLE", "set")
    monkeypatch.delenv("NO_SUCH_VARIABLE_HERE", raising=False)
    files = {"present/__init__.py": "raise SystemExit", "present/inner.py": "raise SystemExit"}
    record = make_distribution(tmp_path, "Some.Thing", "2.5", files=files)
    (record / "METADATA").write_text(EXTRAS)
    library = Path(sys.modules["json"].__file__ or "").parent.parent
    found = unmet(requires, scan([str(tmp_path), str(library)]))
    assert len(found) == len(missing)
    assert all(part in phrase for part, phrase in zip(missing, found, strict=True))
    assert "present" not in sys.modules
