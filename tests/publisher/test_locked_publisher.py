"""The lock has the publisher of each distribution, and one that changes or vanishes is a difference."""

from __future__ import annotations

from typing import Any

import pytest

from strands_cli.errors import Denied
from strands_cli.lock.compare import compare_distribution
from strands_cli.lock.lock_reader import Lock, LockedDistribution, read_lock
from strands_cli.lock.lock_writer import render_lock
from strands_cli.publishers import Publisher

# They make wheels, indexes or keys.
pytestmark = pytest.mark.wheels

ACME = Publisher("github", "acme/shout", "release.yml")
EVIL = Publisher("github", "evil/shout", "release.yml")
FILES = {"a.py": f"sha256:{'0' * 64}"}


def locked(publisher: Publisher | None) -> LockedDistribution:
    return LockedDistribution("strands-tool-shout", "1.0", FILES, publisher=publisher)


def test_a_lock_is_read_as_it_was_written(tmp_path: Any) -> None:
    text = render_lock(Lock({"strands-tool-shout": locked(ACME)}))
    assert 'publisher = { kind = "github", repository = "acme/shout", workflow = "release.yml" }\n' in text
    (tmp_path / "strands.lock").write_text(text, encoding="utf-8")
    read = read_lock(tmp_path / "strands.lock")
    assert read is not None
    assert read.distributions["strands-tool-shout"].publisher == ACME


@pytest.mark.parametrize("now", [EVIL, None, Publisher("github", "acme/shout", "other.yml")])
def test_a_publisher_that_changes_or_vanishes_is_a_difference_with_both_values(now: Publisher | None) -> None:
    (found,) = compare_distribution(locked(ACME), locked(now), whole=True)
    assert (found.code, found.field, found.old) == ("lock-changed", "publisher", ACME.as_dict())
    assert found.new == (now.as_dict() if now else None)
    assert str(ACME) in found.message
    assert (str(now) if now else "unverified") in found.message


@pytest.mark.parametrize("before", [None, ACME])
def test_a_publisher_that_was_not_known_before_is_not_a_difference(before: Publisher | None) -> None:
    assert compare_distribution(locked(before), locked(ACME), whole=True) == []


@pytest.mark.parametrize(
    "written",
    [
        '"github:acme/shout"',
        '{ kind = "github", repository = "acme/*", workflow = "" }',
        '{ kind = "github", repository = "acme/shout" }',
        '{ kind = "github", repository = "acme/shout", workflow = "a", more = "b" }',
        '{ kind = 3, repository = "acme/shout", workflow = "" }',
    ],
)
def test_a_lock_with_a_publisher_of_another_form_is_broken(written: str, tmp_path: Any) -> None:
    text = render_lock(Lock({"strands-tool-shout": locked(ACME)}))
    good = '{ kind = "github", repository = "acme/shout", workflow = "release.yml" }'
    (tmp_path / "strands.lock").write_text(text.replace(good, written), encoding="utf-8")
    with pytest.raises(Denied) as caught:
        read_lock(tmp_path / "strands.lock")
    assert [finding.code for finding in caught.value.findings] == ["lock-broken"]
