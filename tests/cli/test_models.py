"""`strands models` and `strands keys`, and the runs that use what they keep."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.strands import Folder, empty_folder
from tests.fakes.model_server import ModelServer, Turn
from tests.wordings import Wording

KEY = "sk-stored-1234567890abcdef"
FLOW = {
    "version": 2,
    "name": "flow",
    "agents": {"writer": {"prompt": "You write."}},
    "pattern": {"type": "chain", "config": {"steps": [{"agent": "writer", "input": "Go."}]}},
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    """Return a model over HTTP that answers every request."""
    with ModelServer(lambda request: Turn(f"I am {request['model']}.")) as started:
        yield started


@pytest.fixture
def folder(tmp_path: Path, server: ModelServer) -> Iterator[Folder]:
    """Return a folder with a workflow that names no model."""
    with empty_folder(tmp_path) as made:
        made.environ["OPENAI_BASE_URL"] = server.url
        made.write("flow.yaml", FLOW)
        yield made


def settings(folder: Folder) -> Path:
    return folder.root / "home" / ".config" / "strands-cli"


def test_a_workflow_without_a_model_has_the_default_one(folder: Folder, wording: Wording) -> None:
    ran = folder.strands("validate", "flow.yaml")
    assert (ran.code, ran.codes) == (3, ["missing-key"])
    wording(ran.err)
    assert folder.strands("models", "default", "openai/tiny").out == "openai/tiny\n"
    assert folder.strands("validate", "flow.yaml").code == 0
    planned = folder.strands("plan", "flow.yaml", "--json").document
    assert planned["default_model"] == "openai/tiny"
    assert planned["agents"][0]["model"]["model_id"] == "tiny"
    assert "openai/tiny" in folder.strands("plan", "flow.yaml").out
    assert folder.strands("run", "flow.yaml", "-q").out == "I am tiny.\n"
    assert folder.strands("models", "default", "--remove").code == 0
    assert folder.strands("plan", "flow.yaml").code == 3


def test_an_own_model_and_settings_beside_it_keep_the_default_out(folder: Folder) -> None:
    folder.strands("models", "default", "openai/tiny")
    folder.write("own.yaml", {**FLOW, "runtime": {"provider": "openai", "model_id": "own"}})
    assert "default_model" not in folder.strands("plan", "own.yaml", "--json").document
    for settings_of_others in ({"host": "http://127.0.0.1:9/v1"}, {"model_id": "x"}, {"options": {"params": {}}}):
        folder.write("half.yaml", {**FLOW, "runtime": settings_of_others})
        assert folder.strands("validate", "half.yaml").codes == ["missing-key"]
    folder.write("limits.yaml", {**FLOW, "runtime": {"budgets": {"max_tokens": 1000}}})
    assert folder.strands("run", "limits.yaml", "-q").out == "I am tiny.\n"


def test_a_run_keeps_its_model_when_the_default_changes(folder: Folder, server: ModelServer) -> None:
    folder.strands("models", "default", "openai/tiny")
    server.script = lambda request: Turn(status=400)
    run = folder.strands("run", "flow.yaml", "--json").document["run"]
    server.script = lambda request: Turn(f"I am {request['model']}.")
    folder.strands("models", "default", "openai/other")
    assert folder.strands("resume", run, "-q").out == "I am tiny.\n"
    folder.strands("models", "default", "--remove")
    assert folder.strands("runs", "rerun", run, "--from", "steps.0", "-q").code == 3


def test_an_alias_is_another_name_and_never_leads_to_itself(folder: Folder, wording: Wording) -> None:
    assert folder.strands("models", "alias", "fast", "openai/tiny").code == 0
    assert folder.strands("models", "alias", "daily", "fast").code == 0
    assert folder.strands("models", "default", "daily").out == "openai/tiny  (daily)\n"
    for words in (["alias", "fast", "daily"], ["alias", "fast", "fast"], ["alias", "a/b", "openai/x"], ["alias", "x"]):
        ran = folder.strands("models", *words)
        assert ran.code == 2
        wording(ran.err)
    assert folder.strands("models", "alias", "daily", "--remove").code == 2  # it is the default
    assert folder.strands("run", "flow.yaml", "-q").out == "I am tiny.\n"


@pytest.mark.parametrize(
    "content",
    [
        '{"version": 1, "default": "a", "aliases": {"a": "b", "b": "a"}}',
        '{"version": 1, "default": 3}',
        '{"version": 1, "defalt": "openai/x"}',
        '{"version": 2, "default": "openai/x"}',
        '{"version": 1, "default": "no model"}',
        "[]",
        "{",
    ],
)
def test_a_damaged_file_of_models_is_a_finding_at_its_place(content: str, folder: Folder) -> None:
    settings(folder).mkdir(parents=True)
    (settings(folder) / "models.json").write_text(content)
    ran = folder.strands("run", "flow.yaml")
    assert (ran.code, ran.codes[:1]) == (3, ["bad-config"])
    assert str(settings(folder) / "models.json") in ran.places[0]


def test_a_stored_key_is_used_and_shown_nowhere(folder: Folder, server: ModelServer) -> None:
    folder.strands("models", "default", "openai/tiny")
    ran = folder.strands("keys", "set", "openai", given=f"{KEY}\n")
    assert (ran.code, ran.out) == (0, "")
    if sys.platform != "win32":
        assert (settings(folder) / "keys.json").stat().st_mode & 0o077 == 0
    row = folder.strands("keys", "list", "--json").document["keys"][0]
    assert (row["variable"], row["place"], row["in_environment"]) == ("OPENAI_API_KEY", "file", False)
    server.script = lambda request: Turn(f"The key is {KEY}.")
    ran = folder.strands("run", "flow.yaml", "-v")
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert (ran.code, KEY in ran.out + ran.err, "[secret]" in ran.out) == (0, False, True)
    assert folder.strands("run", "flow.yaml", OPENAI_API_KEY="sk-of-the-environment").code == 0
    assert server.requests[-1].headers["authorization"] == "Bearer sk-of-the-environment"
    assert folder.strands("keys", "remove", "openai").code == 0
    assert folder.strands("keys", "list", "--json").document == {"format": 1, "keys": []}


def test_a_key_on_the_command_line_is_refused_and_not_repeated(folder: Folder) -> None:
    ran = folder.strands("keys", "set", "openai", KEY)
    assert (ran.code, KEY in ran.err, (settings(folder) / "keys.json").exists()) == (2, False, False)


@pytest.mark.parametrize("text", ["", "your-api-key", "two words", "'sk-quoted'"])
def test_a_text_that_is_not_a_key_is_not_stored(text: str, folder: Folder) -> None:
    assert folder.strands("keys", "set", "openai", given=text).code == 2
    assert not (settings(folder) / "keys.json").exists()


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of POSIX")
def test_a_file_of_keys_that_others_may_read_is_not_used(folder: Folder, wording: Wording) -> None:
    folder.environ["OPENAI_BASE_URL"] = "https://models.example.com/v1"
    folder.strands("models", "default", "openai/tiny")
    folder.strands("keys", "set", "openai", given=KEY)
    (settings(folder) / "keys.json").chmod(0o644)
    ran = folder.strands("plan", "flow.yaml")
    assert (ran.code, ran.codes, KEY in ran.err) == (18, ["missing-api-key"], False)
    wording(ran.err)
    assert folder.strands("keys", "list").code == 2


# A backend of the package keyring, which keeps passwords in a folder; `MOOD` is what it does when it is asked.
BACKEND = """
import os, pathlib, time
from keyring.backend import KeyringBackend
from keyring.errors import KeyringLocked, PasswordDeleteError

KEPT = pathlib.Path(__file__).with_name("kept")

class Shelf(KeyringBackend):
    priority = 5

    def _open(self):
        if os.environ.get("MOOD") == "hangs":
            time.sleep(600)
        if os.environ.get("MOOD") == "locked":
            raise KeyringLocked("the collection is locked")

    def set_password(self, service, username, password):
        self._open()
        KEPT.write_text(password)

    def get_password(self, service, username):
        self._open()
        return KEPT.read_text() if KEPT.exists() else None

    def delete_password(self, service, username):
        self._open()
        if not KEPT.exists():
            raise PasswordDeleteError(username)
        KEPT.unlink()
"""


@pytest.fixture
def shelf(folder: Folder) -> Path:
    """Let the package keyring use a backend of its own, and return the file in which that keeps the password."""
    pytest.importorskip("keyring")
    (folder.site / "shelf_backend.py").write_text(BACKEND)
    folder.environ["PYTHON_KEYRING_BACKEND"] = "shelf_backend.Shelf"
    folder.strands("models", "default", "openai/tiny")
    return folder.site / "kept"


def test_a_keyring_keeps_the_key_where_there_is_one(folder: Folder, server: ModelServer, shelf: Path) -> None:
    assert "keyring" in folder.strands("keys", "set", "openai", given=KEY).err
    assert KEY not in (settings(folder) / "keys.json").read_text()
    assert folder.strands("run", "flow.yaml").code == 0
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    shelf.unlink()
    folder.environ["OPENAI_BASE_URL"] = "https://models.example.com/v1"
    assert folder.strands("plan", "flow.yaml").codes == ["missing-api-key"]
    assert folder.strands("keys", "remove", "openai").code == 0, "it is not in the keyring any more"


def test_a_key_that_moves_into_the_file_leaves_the_keyring(folder: Folder, shelf: Path) -> None:
    folder.strands("keys", "set", "openai", given=KEY)
    assert shelf.read_text() == KEY
    assert folder.strands("keys", "set", "openai", "--file", given=f"{KEY}-2").code == 0
    assert not shelf.exists()
    assert [one["place"] for one in folder.strands("keys", "list", "--json").document["keys"]] == ["file"]
    assert folder.strands("keys", "set", "openai", given=KEY).code == 0
    assert f"{KEY}-2" not in (settings(folder) / "keys.json").read_text()


@pytest.mark.parametrize("mood", ["hangs", "locked"])
def test_a_keyring_that_gives_no_answer_holds_up_nothing(mood: str, folder: Folder, shelf: Path) -> None:
    assert folder.strands("keys", "set", "openai", given=KEY).code == 0
    folder.environ["OPENAI_BASE_URL"] = "https://models.example.com/v1"
    ran = folder.strands("run", "flow.yaml", MOOD=mood)
    assert (ran.code, ran.codes, "keyring" in ran.err) == (18, ["missing-api-key"], True)
    assert folder.strands("plan", "flow.yaml", MOOD=mood, OPENAI_API_KEY="sk-of-the-environment").code == 0
    if mood == "locked":
        kept = (settings(folder) / "keys.json").read_text()
        assert folder.strands("keys", "remove", "openai", MOOD=mood).code == 2
        stored = folder.strands("keys", "set", "openai", "--file", given=KEY, MOOD=mood)
        assert (stored.code, "keyring" in stored.err) == (0, True)
        assert ((settings(folder) / "keys.json").read_text() == kept, shelf.exists()) == (False, True)


def test_a_stored_key_is_not_in_the_environment_of_tools(folder: Folder, server: ModelServer) -> None:
    folder.tool("peek", "import os; return answer(os.environ.get('OPENAI_API_KEY', 'nothing'))")
    steps = [{"agent": "writer", "input": "Go."}, {"tool": "native:peek", "input": {}}]
    folder.write("flow.yaml", {**FLOW, "pattern": {"type": "chain", "config": {"steps": steps}}})
    folder.strands("models", "default", "openai/tiny")
    folder.strands("keys", "set", "openai", "--file", given=KEY)
    assert folder.strands("run", "flow.yaml", "-q", "--yes").out == "nothing\n"
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


def test_commands_that_change_the_files_at_once_lose_nothing(folder: Folder) -> None:
    names = [f"OURS_{number}_API_KEY" for number in range(4)]
    started = [folder.start("keys", "set", name, "--file", given=f"sk-{name}-0123456789") for name in names]
    started += [folder.start("models", "alias", f"m{number}", "openai/tiny") for number in range(4)]
    assert [one.end().code for one in started] == [0] * 8
    assert [one["variable"] for one in folder.strands("keys", "list", "--json").document["keys"]] == names
    assert sorted(folder.strands("models", "list", "--json").document["aliases"]) == ["m0", "m1", "m2", "m3"]


def test_a_place_that_cannot_be_written_is_named(folder: Folder) -> None:
    (folder.root / "no folder").write_text("")
    for words in (("keys", "set", "openai", "--file"), ("models", "default", "openai/tiny")):
        ran = folder.strands(*words, given=KEY, XDG_CONFIG_HOME=str(folder.root / "no folder"))
        assert (ran.code, "no folder" in ran.err, KEY in ran.err, "bug" in ran.err) == (2, True, False, False)


def test_the_list_says_what_can_be_used(folder: Folder, server: ModelServer) -> None:
    known = {one["name"]: one for one in folder.strands("models", "list", "--reach", "--json").document["providers"]}
    assert (known["openai"]["installed"], known["openai"]["key"], known["openai"]["reachable"]) == (True, "none", True)
    assert known["ollama"]["key"] == "not needed"
    assert "strands keys set openai" in folder.strands("models").out
    assert json.dumps(known).count("sk-") == 0
