"""`strands ask`: one question from a terminal or a pipe, and going on with it."""

from __future__ import annotations

import base64
import re

import pytest
import yaml

from tests.cli.strands import Folder
from tests.fakes.model_server import ModelServer, Turn
from tests.warm import STRANDS
from tests.wordings import Wording

PNG = b"\x89PNG\r\n\x1a\n" + bytes(60)


def messages_of(server: ModelServer, number: int = -1) -> list[tuple[str, str]]:
    """Return the roles and texts of the messages of a request."""

    def text(content: object) -> str:
        return "".join(part["text"] for part in content) if isinstance(content, list) else str(content)

    return [(message["role"], text(message["content"])) for message in server.model_requests[number]["messages"]]


def test_a_question_is_answered_on_stdout_and_nothing_else(folder: Folder) -> None:
    ran = folder.strands("ask", "what", "do", "bees", "do?")
    assert (ran.code, ran.out, ran.err) == (0, "The user said: what do bees do?\n", "")


def test_the_text_of_a_pipe_follows_the_question(folder: Folder, server: ModelServer) -> None:
    assert folder.strands("ask", "what failed?", given="line 1\nline 2\n").code == 0
    assert messages_of(server)[-1] == ("user", "what failed?\n\nline 1\nline 2")


def test_a_text_alone_is_the_question(folder: Folder, server: ModelServer) -> None:
    assert folder.strands("ask", given="why?\n").code == 0
    assert messages_of(server)[-1] == ("user", "why?")


@pytest.mark.parametrize("words", ["{{ 7 * 7 }}", "{% for x in y %}", "${HOME}", "a: b\n- c: &d", "'\" \\ \t é 蜂"])
def test_a_question_is_sent_as_it_is_written(words: str, folder: Folder, server: ModelServer) -> None:
    assert folder.strands("ask", words).code == 0
    assert messages_of(server)[-1] == ("user", words)


def test_the_system_prompt_is_not_a_template_either(folder: Folder, server: ModelServer) -> None:
    assert folder.strands("ask", "hello", "-s", "Be {{ brief }}.").code == 0
    assert messages_of(server)[0] == ("system", "Be {{ brief }}.")


def test_a_tool_is_called_through_the_permission_check(folder: Folder, server: ModelServer) -> None:
    server.script = [Turn(calls=[("calculator", {"expression": "17 * 23"})]), Turn("It is 391.")]
    ran = folder.strands("ask", "17 * 23?", "-T", "calculator", "--json")
    assert (ran.code, ran.document["response"], ran.document["tool_calls"]) == (0, "It is 391.", 1)
    shown = folder.strands("runs", "show", ran.document["run"], "--json").document
    decided = [effect["decision"] for effect in shown["effects"] if effect["kind"] == "tool"]
    assert decided == ["allow"]


def test_what_the_person_denies_is_not_called(folder: Folder, server: ModelServer) -> None:
    server.script = [Turn(calls=[("calculator", {"expression": "1"})]), Turn("I may not.")]
    folder.write("strands-policy.yaml", "version: 1\nrules: [{deny: calculator}]\n")
    ran = folder.strands("ask", "1?", "-T", "calculator")
    assert ran.code == 21
    assert len(server.model_requests) == 0


def test_a_denial_is_reported_by_the_answer_that_it_belongs_to(folder: Folder, server: ModelServer) -> None:
    pytest.importorskip("strands_tool_files")
    server.script = lambda request: (
        Turn(calls=[("file_write", {"path": "a", "content": "b"})])
        if "write" in str(request["messages"][-1]) and request["messages"][-1]["role"] == "user"
        else Turn("no")
    )
    assert folder.strands("ask", "write", "-T", "file_write", "--deny").code == 21
    ran = folder.strands("ask", "-c", "and now?")
    assert (ran.code, ran.out, ran.err) == (0, "no\n", "")


def test_a_call_that_needs_a_person_waits_and_the_conversation_goes_on_after_the_answer(
    folder: Folder, server: ModelServer
) -> None:
    pytest.importorskip("strands_tool_files")
    server.script = lambda request: (
        Turn(calls=[("file_write", {"path": "a.txt", "content": "b"})])
        if "write" in str(request["messages"][-1]) and request["messages"][-1]["role"] == "user"
        else Turn("done")
    )
    ran = folder.strands("ask", "write", "-T", "file_write", given="")
    assert ran.code == 19
    command = re.search(r"strands (approve .*)", ran.err)
    assert command is not None
    assert folder.strands("ask", "-c", "and now?").code == 2
    assert folder.strands(*command[1].split()).code == 0
    assert (folder.work / "a.txt").read_text() == "b"
    assert folder.strands("ask", "-c", "and now?").out == "done\n"


def test_a_question_goes_on_with_the_last_one(folder: Folder, server: ModelServer) -> None:
    folder.strands("ask", "who are you?", "-s", "A bee.", "-T", "calculator")
    ran = folder.strands("ask", "-c", "and why?")
    assert (ran.code, ran.out) == (0, "The user said: and why?\n")
    assert messages_of(server) == [
        ("system", "A bee."),
        ("user", "who are you?"),
        ("assistant", "The user said: who are you?"),
        ("user", "and why?"),
    ]
    assert [tool["function"]["name"] for tool in server.model_requests[-1]["tools"]] == ["calculator"]
    assert folder.strands("ask", "-c", "really?").code == 0
    assert len(messages_of(server)) == 6
    assert len(server.model_requests) == 3  # no question was asked again


def test_going_on_after_a_failure_leaves_the_question_that_failed_out(folder: Folder, server: ModelServer) -> None:
    folder.strands("ask", "one")
    server.script = lambda request: Turn(status=400)
    assert folder.strands("ask", "-c", "two").code == 10
    server.script = lambda request: Turn("yes")
    assert folder.strands("ask", "-c", "three").code == 0
    assert [text for role, text in messages_of(server) if role == "user"] == ["one", "three"]


def test_a_model_on_the_command_line_beats_the_default(folder: Folder, server: ModelServer) -> None:
    folder.strands("models", "alias", "big", "openai/huge")
    for name, model in [("openai/other", "other"), ("big", "huge")]:
        assert folder.strands("ask", "hello", "-m", name).code == 0
        assert server.model_requests[-1]["model"] == model


def test_an_answer_satisfies_a_schema(folder: Folder, server: ModelServer) -> None:
    folder.write("schema.json", {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]})
    server.script = lambda request: Turn(calls=[(request["tools"][-1]["function"]["name"], {"n": 4})])
    ran = folder.strands("ask", "two and two?", "--schema", "schema.json", "--json")
    assert (ran.code, ran.document["response"]) == (0, '{"n": 4}') or ran.document["response"] == {"n": 4}


def test_a_saved_question_is_a_workflow_that_runs(folder: Folder, server: ModelServer) -> None:
    ran = folder.strands("ask", "what is {{ this }}?", "-T", "calculator", "--save", "flow.yaml", given="two\nlines\n")
    assert (ran.code, server.model_requests) == (0, [])
    assert yaml.safe_load((folder.work / "flow.yaml").read_text())["tools"] == {"python": ["native:calculator"]}
    assert folder.strands("validate", "flow.yaml").code == 0
    assert folder.strands("run", "flow.yaml", "-q").out == "The user said: what is {{ this }}?\n\ntwo\nlines\n"
    assert folder.strands("ask", "again", "--save", "flow.yaml").code == 12


def test_a_question_can_be_resumed_with_another_default(folder: Folder, server: ModelServer) -> None:
    server.script = lambda request: Turn(status=400)
    run = folder.strands("ask", "one", "--json").document["run"]
    folder.strands("models", "default", "openai/other")
    server.script = lambda request: Turn("yes")
    ran = folder.strands("resume", run, "-q")
    assert (ran.code, ran.out, server.model_requests[-1]["model"]) == (0, "yes\n", "tiny")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ([], 2),
        (["-c", "more"], 2),
        (["x", "-T", "calculater"], 3),
        (["x", "-m", "opnai/tiny"], 3),
        (["x", "-m", "a b"], 2),
        (["x", "--schema", "none.json"], 2),
        (["x", "-a", "none.png"], 2),
        (["x", "-a", "https://example.com/a.png"], 2),
        (["-a", "picture"], 2),
        (["x", "-a", "picture", "-a", "huge"], 2),
        (["x", "-a", "-", "--save", "flow.yaml"], 2),
    ],
)
def test_mistakes_are_named_before_a_model_is_asked(
    words: list[str], code: int, folder: Folder, server: ModelServer, wording: Wording
) -> None:
    (folder.work / "picture").write_bytes(PNG)
    with (folder.work / "huge").open("wb") as stream:
        stream.truncate(10**9)
    ran = folder.strands("ask", *words)
    assert (ran.code, server.model_requests) == (code, [])
    wording(ran.err.replace(str(folder.work), "WORK"))


def test_input_that_is_not_text_is_refused(folder: Folder, server: ModelServer) -> None:
    (folder.work / "picture").write_bytes(b"\xff\xd8\xff\xe0")
    ran = folder.run(["sh", "-c", f'"{STRANDS}" ask "what is this?" < picture'])
    assert (ran.code, server.model_requests) == (2, [])
    assert "-a -" in ran.err


def pictures(server: ModelServer, number: int = -1) -> list[bytes]:
    """Return the pictures of a request."""
    contents = [message["content"] for message in server.model_requests[number]["messages"]]
    parts = [part for content in contents if isinstance(content, list) for part in content]
    urls = [part["image_url"]["url"] for part in parts if part["type"] == "image_url"]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def test_files_go_with_their_question_and_stay_in_the_conversation(folder: Folder, server: ModelServer) -> None:
    (folder.work / "{{ a }}.png").write_bytes(PNG)
    (folder.root / "b.png").write_bytes(PNG + b"b")
    assert folder.strands("ask", "what?", "-a", "{{ a }}.png", "-a", "../b.png").code == 0
    assert pictures(server) == [PNG, PNG + b"b"]
    (folder.root / "b.png").unlink()
    (folder.work / "c.png").write_bytes(PNG + b"c")
    assert folder.strands("ask", "-c", "and this?", "-a", "c.png", cwd=folder.root).code == 2
    ran = folder.strands("ask", "-c", "and this?", "-a", "work/c.png", cwd=folder.root)
    assert ran.code == 0, ran.err
    assert pictures(server) == [PNG, PNG + b"b", PNG + b"c"]
    shown = folder.strands("runs", "show", "last").out
    assert all(name in shown for name in ("{{ a }}.png", "b.png", "c.png"))


def test_standard_input_is_a_file_where_it_is_attached(folder: Folder, server: ModelServer) -> None:
    (folder.work / "picture").write_bytes(PNG)
    server.script = lambda request: Turn(status=400) if len(server.model_requests) == 1 else Turn("a bee")
    assert folder.run(["sh", "-c", f'"{STRANDS}" ask "what is this?" -a - < picture']).code == 10
    ran = folder.strands("resume", "last", "-q")
    assert (ran.code, ran.out, pictures(server)) == (0, "a bee\n", [PNG]), ran.err


def test_a_saved_question_has_its_files_beside_it(folder: Folder, server: ModelServer) -> None:
    (folder.work / "a.png").write_bytes(PNG)
    assert folder.strands("ask", "what?", "-a", "a.png", "--save", "flow.yaml").code == 0
    assert "- a.png\n" in (folder.work / "flow.yaml").read_text()
    assert folder.strands("run", "flow.yaml", "-q").code == 0
    assert pictures(server) == [PNG]


@pytest.mark.parametrize(
    "name", ["greet", "native:greet", "strands-tool-greet/greet", "native:strands-tool-greet/greet"]
)
def test_the_tool_of_a_stranger_is_named_as_people_write_it(name: str, folder: Folder, server: ModelServer) -> None:
    folder.tool("greet", "return answer('hello bee')", hints={"readOnlyHint": True})
    server.script = [Turn(calls=[("greet", {"text": "bee"})]), Turn("It greets.")]
    ran = folder.strands("ask", "greet it", "-T", name, "--yes", "--json")
    assert (ran.code, ran.document["response"], ran.document["tool_calls"]) == (0, "It greets.", 1), ran.err


@pytest.mark.parametrize("name", ["gret", "native:gret", "no_such_tool", "strands-tool-nothing"])
def test_a_tool_that_is_not_installed_has_a_fix(
    name: str, folder: Folder, server: ModelServer, wording: Wording
) -> None:
    folder.tool("greet", "return answer('hello bee')")
    ran = folder.strands("ask", "greet it", "-T", name)
    assert (ran.code, server.model_requests) == (3, [])
    wording(ran.reported[0])
