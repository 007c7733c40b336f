from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from strands_cli.catalog.distributions.dist_info import unmet
from strands_cli.catalog.distributions.scan import scan_path
from strands_cli.versions import satisfies
from tests.distributions import make_distribution
from tests.wordings import Wording

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
def test_what_is_not_a_plain_release_goes_to_packaging(version: str, specifier: str, expected: bool) -> None:
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
    ("metadata", "named"),
    [
        (b"Name: some-thing\nProvides-Extra: full\nSummary: \xff\n", None),
        (b"Name: some-thing\nProvides-Extra: full\nRequires-Dist: what is this\n", "'some-thing[full]'"),
        (b"\xff\xfe", "'full'"),
    ],
    ids=["not-utf8", "malformed", "nothing"],
)
def test_damaged_metadata_of_a_distribution_is_a_missing_condition(
    tmp_path: Path, metadata: bytes, named: str | None, wording: Wording
) -> None:
    (make_distribution(tmp_path, "some-thing", "2.5") / "METADATA").write_bytes(metadata)
    found = unmet({"distributions": ["some-thing[full]"]}, scan_path([str(tmp_path)]))
    assert [named in phrase for phrase in found] == ([] if named is None else [True])
    # The words of `packaging` are in parentheses.
    wording([re.sub(r"\(.*\)", "(...)", phrase) for phrase in found])


@pytest.mark.parametrize(
    ("requires", "missing"),
    [
        ({}, []),
        ({"python": ">=3.11"}, []),
        ({"python": ">=99"}, ["Python >=99"]),
        ({"python": "the latest"}, ["the latest"]),
        ({"os": ["linux", "darwin", "windows"]}, []),
        ({"os": ["plan9"]}, ["plan9"]),
        ({"env": ["NO_SUCH_VARIABLE_HERE"]}, ["NO_SUCH_VARIABLE_HERE"]),
        ({"env": ["A_VARIABLE"]}, []),
        ({"modules": ["present", "present.inner", "sys", "json.decoder"]}, []),
        ({"modules": ["absent", "present.absent"]}, ["'absent'", "'present.absent'"]),
        ({"modules": ["present.\0", "../present"]}, [repr("present.\0"), "'../present'"]),
        ({"distributions": ["Some.Thing", "some-thing>=2,<3", "some_thing ~= 2.0"]}, []),
        ({"distributions": ["some-thing>=3"]}, ["'some-thing>=3' (2.5 "]),
        ({"distributions": ["other"]}, ["pip install 'other'"]),
        ({"distributions": ["other; python_version < '3'", "some-thing[Fast_IO]>=2"]}, []),
        ({"distributions": ["some-thing[nosuch]"]}, ["'some-thing[nosuch]'"]),
        ({"distributions": ["some-thing[full]"]}, ["'absent'"]),
        ({"distributions": ["some-thing[old]"]}, ["'some-thing'"]),
        ({"distributions": ["some-thing[fast-io]>=3"]}, ["'some-thing[fast-io]>=3' (2.5 "]),
        ({"distributions": ["!!"]}, ["'!!'"]),
        ({"python": ">=99", "modules": ["absent"]}, ["Python >=99", "'absent'"]),
    ],
)
def test_each_condition_names_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, requires: dict[str, object], missing: list[str], wording: Wording
) -> None:
    monkeypatch.setenv("A_VARIABLE", "set")
    monkeypatch.delenv("NO_SUCH_VARIABLE_HERE", raising=False)
    files = {"present/__init__.py": "raise SystemExit", "present/inner.py": "raise SystemExit"}
    record = make_distribution(tmp_path, "Some.Thing", "2.5", files=files)
    (record / "METADATA").write_text(EXTRAS)
    library = Path(sys.modules["json"].__file__ or "").parent.parent
    found = unmet(requires, scan_path([str(tmp_path), str(library)]))
    assert len(found) == len(missing)
    assert all(part in phrase for part, phrase in zip(missing, found, strict=True))
    here = r"\b(linux|macos|windows|{})\b".format(re.escape(".".join(map(str, sys.version_info[:3]))))
    wording([re.sub(here, "HERE", phrase) for phrase in found])
    assert "present" not in sys.modules
