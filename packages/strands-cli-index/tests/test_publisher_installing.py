"""`plugin install` and `plugin publisher` with an index on loopback, by pip and by uv."""

from __future__ import annotations

import base64
import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from publisher_artifacts import ARTIFACTS, GITHUB, WHEEL, document_of
from publisher_index_server import Index, started

from tests.distributions.wheels import tool_wheel
from tests.installing_person import Person, make_home, person_of

pytestmark = pytest.mark.wheels

NAME, VERSION = "circleci-sign-publish-example", "0.0.1.dev137"
WANTED = f"{NAME}=={VERSION}"
REPOSITORY = "github.com/CircleCI-Public/sign-and-publish-examples"


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with strands-cli[attestations] in place, and pip and uv beside it."""
    needs = ("pypi-attestations", "sigstore")
    return make_home(tmp_path_factory.mktemp("publishers"), "strands-cli-index", requires=needs)


@pytest.fixture
def index() -> Iterator[Index]:
    with started() as made:
        yield made


@pytest.fixture(params=["pip", "uv"])
def person(environment: Path, tmp_path: Path, index: Index, request: pytest.FixtureRequest) -> Iterator[Person]:
    """Return somebody whose installer uses the index on loopback, and nothing else."""
    settings = {"PIP_INDEX_URL": index.url, "PIP_NO_INDEX": "0", "UV_DEFAULT_INDEX": index.url, "UV_OFFLINE": "0"}
    for somebody in person_of(environment, tmp_path, request.param):
        somebody.environ.update(settings)
        yield somebody


def stored(person: Person) -> list[Path]:
    return list(Path(person.environ["HOME"]).rglob("publishers/*.json"))


def test_the_publisher_is_verified_shown_and_kept(person: Person, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / WHEEL, document_of(WHEEL))
    done = person.strands("plugin", "install", WANTED, "--force", "--yes", "--json")
    assert done.code == 0, done.err
    publisher = done.document["publisher"]
    assert (publisher["status"], publisher["publisher"]["repository"]) == ("verified", REPOSITORY)
    assert f"published by circleci:{REPOSITORY}" in done.err
    assert len(stored(person)) == 1
    asked = len(index.asked)
    assert f"published by circleci:{REPOSITORY}" in person.strands("plugin", "verify", NAME).out
    assert len(index.asked) == asked, "what was verified is read, and no index is asked"
    stored(person)[0].unlink()
    assert "unverified" in person.strands("plugin", "verify", NAME).out
    again = person.strands("plugin", "publisher", NAME, "--json").document["distributions"]
    assert [one["publisher"]["status"] for one in again] == ["verified"]
    assert len(stored(person)) == 1


def test_a_wrong_document_stops_the_installation(person: Person, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / WHEEL, document_of(GITHUB))
    done = person.strands("plugin", "install", WANTED, "--force", "--yes")
    assert (done.code, done.codes) == (21, ["publisher-wrong"])
    assert not person.has(NAME)
    assert stored(person) == []


def test_a_wrong_document_is_found_after_the_installation_too(person: Person, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / WHEEL, document_of(WHEEL))
    assert person.strands("plugin", "install", WANTED, "--force", "--yes").code == 0
    index.publish(NAME, ARTIFACTS / WHEEL, document_of(GITHUB))
    done = person.strands("plugin", "publisher", NAME)
    assert (done.code, done.codes) == (21, ["publisher-wrong"])
    assert stored(person) == []


def test_what_is_not_offered_is_unverified(person: Person, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / WHEEL, None)
    done = person.strands("plugin", "install", WANTED, "--force", "--yes")
    assert done.code == 0, done.err
    assert "publisher: unverified" in done.err
    assert stored(person) == []


def test_other_files_than_those_of_the_index_are_unverified(person: Person, index: Index) -> None:
    index.publish(NAME, ARTIFACTS / WHEEL, document_of(WHEEL))
    assert person.strands("plugin", "install", WANTED, "--force", "--yes").code == 0
    stored(person)[0].unlink()
    (record,) = person.site.glob("circleci_sign_publish_example-*.dist-info/RECORD")
    rows = record.read_text(encoding="utf-8").splitlines()
    path = next(row.partition(",")[0] for row in rows if ".py,sha256=" in row)
    (person.site / path).write_text("CHANGED = True\n", encoding="utf-8")
    digest = base64.urlsafe_b64encode(hashlib.sha256(b"CHANGED = True\n").digest()).decode().rstrip("=")
    changed = [f"{path},sha256={digest},15" if row.startswith(f"{path},") else row for row in rows]
    record.write_text("\n".join(changed) + "\n", encoding="utf-8")
    done = person.strands("plugin", "publisher", NAME, "--json")
    (found,) = done.document["distributions"]
    assert (done.code, found["publisher"]["status"]) == (0, "unverified")
    assert stored(person) == []


def test_a_document_beside_a_wheel_counts(person: Person, index: Index, tmp_path: Path) -> None:
    shelf = tmp_path / "shelf"
    shelf.mkdir()
    for name in (WHEEL, f"{WHEEL}.provenance"):
        shutil.copy(ARTIFACTS / name, shelf)
    done = person.strands("plugin", "install", shelf / WHEEL, "--force", "--yes")
    assert f"published by circleci:{REPOSITORY}" in done.err, done.err
    assert index.asked == []


def test_what_policy_says_of_publishers_is_decided_before_the_installation(person: Person, tmp_path: Path) -> None:
    wheel = tool_wheel(tmp_path, "shout")
    (person.work / "strands-policy.yaml").write_text(
        "version: 1\nrules:\n  - {deny: '*', publisher: '!github:acme/*'}\n", encoding="utf-8"
    )
    done = person.strands("plugin", "install", wheel, "--yes")
    assert (done.code, done.codes) == (21, ["plugin-denied"])
    assert not person.has("strands-tool-shout")
