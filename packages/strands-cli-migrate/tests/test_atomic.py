"""`strands workflows agent`: one agent is listed, described, checked, run and tested as a workflow of one step is."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest

from strands_cli.cli.program import run_program
from strands_cli.workflow.format_schema import agent_schema
from tests.cli.strands import Folder
from tests.covers.kit import text_of
from tests.fakes.model_server import ModelServer, Turn
from tests.yaml_texts import write_yaml

MOOD = {
    "name": "mood",
    "version": 2,
    "description": "Says how a text feels.",
    "prompt": "You say how a text feels.",
    "input_schema": {"type": "string", "minLength": 3},
    "output_schema": {"type": "object", "properties": {"mood": {"enum": ["good", "bad"]}}, "required": ["mood"]},
}
GOOD = '{"mood": "good"}'


def mood(**more: object) -> str:
    return write_yaml({**MOOD, **more}, sort_keys=False)


def flow(**more: object) -> str:
    step = {"agent": "only", "input": "Say: {{ text }}"}
    whole = {
        "version": 2,
        "name": "older",
        "runtime": {"provider": "replay", "recording": "older.recording.yaml"},
        "inputs": {"required": {"text": "string"}},
        "agents": {"only": {"prompt": "You say."}},
        "pattern": {"type": "chain", "config": {"steps": [step]}},
        **more,
    }
    return write_yaml(whole, sort_keys=False)


@pytest.fixture
def live(folder: Folder) -> Iterator[ModelServer]:
    """Serve the models of agents that say `provider: openai`."""
    with ModelServer([]) as server:
        folder.environ |= {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "key-of-tests"}
        yield server


def serve(folder: Folder, *turns: Turn | str) -> ModelServer:
    server = ModelServer([turn if isinstance(turn, Turn) else Turn(turn) for turn in turns])
    folder.environ |= {"OPENAI_API_KEY": "key-of-tests"}
    return server


def test_an_agent_runs_as_any_run_does(folder: Folder) -> None:
    folder.write("agents/mood.yaml", mood(provider="openai", model_id="m"))
    with serve(folder, GOOD) as server:
        ran = folder.strands(
            "atomic", "run", "agents/mood.yaml", "--input", "lovely", "--json", OPENAI_BASE_URL=server.url
        )
        asked = server.model_requests[0]
    assert (ran.code, ran.document["output"], ran.document["status"]) == (0, {"mood": "good"}, "completed"), ran.err
    assert [message["content"] for message in asked["messages"][:1]] == ["You say how a text feels."]
    assert "lovely" in json.dumps(asked["messages"][1])
    shown = folder.strands("runs", "show", ran.document["run"], "--json").document
    assert (shown["workflow"], shown["status"]) == ("mood", "completed")


def test_a_failed_run_of_an_agent_goes_on_without_its_file(folder: Folder) -> None:
    file = folder.write("agents/mood.yaml", mood(provider="openai", model_id="m", output_schema="out.json"))
    schema = folder.write("agents/out.json", MOOD["output_schema"])
    with serve(folder, Turn(status=400), GOOD, '{"mood": "bad"}') as server:
        env = {"OPENAI_BASE_URL": server.url}
        ran = folder.strands("workflows", "agent", "run", file, "--input", "lovely", "--json", **env)
        assert ran.code == 10, ran.err
        file.unlink()
        schema.unlink()
        assert json.loads(folder.strands("resume", ran.document["run"], **env).out) == {"mood": "good"}
        again = folder.strands("runs", "rerun", ran.document["run"], "--from", "steps.0", **env)
    assert json.loads(again.out) == {"mood": "bad"}, again.err


@pytest.mark.parametrize("given", ["@in.txt", "@-"])
def test_the_input_may_be_in_a_file_and_is_not_a_template(folder: Folder, given: str) -> None:
    folder.write("in.txt", "what is {{ 6 * 7 }}")
    folder.write("echo.yaml", {"prompt": "You repeat {{ what }}.", "provider": "openai", "model_id": "m"})
    with serve(folder, "done") as server:
        ran = folder.strands(
            "atomic",
            "run",
            "echo.yaml",
            "--input",
            given,
            "--var",
            "what=all",
            given="what is {{ 6 * 7 }}",
            OPENAI_BASE_URL=server.url,
        )
        messages = server.model_requests[0]["messages"]
    assert ran.out == "done\n"
    assert messages[0]["content"] == "You repeat all."
    assert text_of(messages[1]) == "what is {{ 6 * 7 }}"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--input", "no"], "'no'"),
        (["--input", "@missing.txt"], "'missing.txt'"),
        ([], "'--input'"),
        (["--input", "lovely", "--var", "input=x"], "--input"),
        (["--input", "lovely", "--var", "x"], "NAME=VALUE"),
    ],
)
def test_a_bad_input_ends_before_the_model_is_asked(
    arguments: list[str], said: str, folder: Folder, live: ModelServer
) -> None:
    folder.write("mood.yaml", mood(provider="openai", model_id="m"))
    ran = folder.strands("workflows", "agent", "run", "mood.yaml", *arguments)
    assert (ran.code, live.model_requests) == (2, [])
    assert said in ran.err
    assert not folder.runs.exists()


def test_an_object_is_wanted_where_the_schema_says_so(folder: Folder, live: ModelServer) -> None:
    schema = {"type": "object", "required": ["city"]}
    folder.write("mood.yaml", mood(provider="openai", model_id="m", input_schema=schema))
    ran = folder.strands("workflows", "agent", "run", "mood.yaml", "--input", '{"town": "Bonn"}')
    assert (ran.code, live.model_requests) == (2, [])
    assert "'city'" in ran.err
    assert "mood.yaml:" in ran.err


def test_an_answer_that_does_not_fit_is_not_a_result(folder: Folder) -> None:
    folder.write("mood.yaml", mood(provider="openai", model_id="m"))
    with serve(folder, *['{"mood": "blue"}'] * 4) as server:
        ran = folder.strands(
            "workflows", "agent", "run", "mood.yaml", "--input", "lovely", "--json", OPENAI_BASE_URL=server.url
        )
    assert ran.code == 10
    assert "invalid_output" in ran.document["error"]["message"]


def test_an_agent_without_a_model_says_how_to_give_one(folder: Folder) -> None:
    folder.write("mood.yaml", mood())
    ran = folder.strands("workflows", "agent", "run", "mood.yaml", "--input", "lovely")
    assert ran.code == 2
    assert "--provider NAME --model NAME" in ran.err


def test_the_older_form_takes_its_inputs(folder: Folder) -> None:
    folder.write("older.yaml", flow())
    folder.write("older.recording.yaml", {"recording": 1, "steps": {"steps.0": [{"when": "Say: hi", "text": "hi!"}]}})
    assert folder.strands("workflows", "agent", "run", "older.yaml", "--input", "hi").out == "hi!\n"
    assert folder.strands("workflows", "agent", "run", "older.yaml", "--input", '{"text": "hi"}').out == "hi!\n"


def try_out(folder: Folder, *tests: dict[str, object], **more: object) -> list[tuple[str, str]]:
    folder.write("mood.yaml", mood(tests=list(tests), **more))
    ran = folder.strands("workflows", "agent", "test", "mood.yaml", "--json")
    assert ran.out, ran.err
    assert ran.code == (0 if {one["status"] for one in ran.document["tests"]} <= {"passed", "skipped"} else 10)
    return [(one["status"], "; ".join(one["problems"])) for one in ran.document["tests"]]


def test_tests_pass_fail_and_are_skipped(folder: Folder) -> None:
    good = [{"text": GOOD}]
    ended = try_out(
        folder,
        {"name": "a", "input": "lovely", "recording": good, "expect": {"output": {"mood": "good"}, "contains": "good"}},
        {"name": "b", "input": "lovely", "recording": good, "expect": {"output": {"mood": "bad"}, "matches": "^b"}},
        {"name": "c", "input": "lovely", "recording": good, "expect": {"schema": {"properties": {"mood": False}}}},
        {"name": "d", "input": "lovely", "expect": {"contains": "good"}},
        {"name": "e", "input": "no", "expect": {"error": "bad_input"}},
        {"name": "f", "input": "lovely", "recording": [{"text": "eh"}] * 3, "expect": {"error": "invalid_output"}},
        {"name": "g", "input": "lovely", "recording": good, "expect": {"error": "invalid_output"}},
        {"name": "h", "input": "lovely", "recording": [{"text": "eh"}] * 3, "expect": {"contains": "good"}},
        {"name": "i", "input": "lovely", "recording": [{"when": "ugly", "text": GOOD}], "expect": {"contains": "good"}},
    )
    assert [status for status, _ in ended] == [
        "passed",
        "failed",
        "failed",
        "skipped",
        "passed",
        "passed",
        "failed",
        "failed",
        "error",
    ]
    assert re.search(r'\{"mood": "bad"\}.*\{"mood": "good"\}; .*\'\^b\'', ended[1][1])
    assert "invalid_output" in ended[7][1]


def test_a_recorded_run_is_a_fixture(folder: Folder) -> None:
    folder.write("mood.yaml", mood(provider="openai", model_id="m"))
    with serve(folder, GOOD) as server:
        folder.strands(
            "atomic",
            "run",
            "mood.yaml",
            "--input",
            "lovely",
            "--record",
            "mood.recording.yaml",
            OPENAI_BASE_URL=server.url,
        )
    test = {"name": "a", "input": "lovely", "recording": "mood.recording.yaml", "expect": {"output": {"mood": "good"}}}
    assert try_out(folder, test) == [("passed", "")]


def test_with_live_the_model_is_asked_and_not_the_recording(folder: Folder) -> None:
    tests = [{"name": "a", "input": "lovely", "recording": [{"text": GOOD}], "expect": {"contains": "bad"}}]
    folder.write("mood.yaml", mood(tests=tests))
    with serve(folder, '{"mood": "bad"}') as server:
        ran = folder.strands(
            "atomic", "test", "mood.yaml", "--live", "--provider", "openai", "--model", "m", OPENAI_BASE_URL=server.url
        )
    assert (ran.code, ran.out) == (0, "1 passed\n"), ran.err
    assert folder.strands("workflows", "agent", "test", "mood.yaml").code == 10
    nobody = folder.strands("workflows", "agent", "test", "mood.yaml", "--live")
    assert nobody.code == 10
    assert "mood.yaml" in nobody.err


def test_no_record_of_a_test_is_kept(folder: Folder) -> None:
    try_out(folder, {"name": "a", "input": "lovely", "recording": [{"text": GOOD}], "expect": {"contains": "good"}})
    assert not folder.runs.exists()
    assert sorted(path.name for path in folder.work.iterdir()) == ["mood.yaml"]


def test_tools_of_a_test_are_called_under_the_same_rules(folder: Folder) -> None:
    folder.tool("wipe", "return answer('wiped')", annotations={"destructiveHint": True})
    folder.tool("look", "return answer('seen')")
    turns = [{"calls": [{"wipe": {}}, {"look": {}}]}, {"when": "wipe: error...", "text": GOOD}]
    test = {"name": "a", "input": "lovely", "recording": turns, "expect": {"contains": "good"}}
    folder.write("mood.yaml", mood(tests=[test], tools=["native:wipe", "native:look"]))
    refused = folder.strands("workflows", "agent", "test", "mood.yaml", "--json").document["tests"][0]
    allowed = folder.strands("workflows", "agent", "test", "mood.yaml", "--json", "--allow", "wipe").document["tests"][
        0
    ]
    assert refused["status"] == "passed", refused["problems"]
    assert allowed["status"] == "error", "with leave to wipe, the request is not the recorded one"


def test_ci_reads_how_tests_ended(folder: Folder) -> None:
    bad = "\x1b[31m\x00 <&>\n"
    tests = [
        {"name": "a & b", "input": "lovely", "recording": [{"text": GOOD}], "expect": {"contains": bad}},
        {"name": "ok", "input": "lovely", "recording": [{"text": GOOD}], "expect": {"contains": "good"}},
        {"name": "live", "input": "lovely", "expect": {"contains": "good"}},
    ]
    folder.write("mood.yaml", json.dumps({**MOOD, "tests": tests}))
    ran = folder.strands("workflows", "agent", "test", "mood.yaml", "--junit", "out.xml")
    assert (ran.code, ran.out) == (10, "1 passed, 1 failed, 1 skipped\n")
    (suite,) = ElementTree.parse(folder.work / "out.xml").getroot()
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [case.get("name") for case in suite.iter("testcase")] == ["a & b", "ok", "live"]
    assert "x1b" in (suite.find("testcase/failure").get("message") or "")  # type: ignore[union-attr]


def test_a_file_with_mistakes_is_not_tested(folder: Folder) -> None:
    folder.write("mood.yaml", mood(tests=[{"name": "a", "input": "no", "expect": {"contains": "x"}}]))
    ran = folder.strands("workflows", "agent", "test", "mood.yaml", "--json")
    assert (ran.code, ran.document["tests"], ran.document["error"]["exit_code"]) == (3, [], 3)
    assert re.search(r"'a' .*'no'", ran.err)


def test_an_agent_may_come_from_stdin(folder: Folder) -> None:
    assert folder.strands("workflows", "agent", "validate", "-", given=mood()).out == "-: ok\n"
    refused = folder.strands("workflows", "agent", "validate", "-", given="promt: x\nprompt: p\n")
    assert (refused.code, refused.err.splitlines()[1]) == (3, "  --> <stdin>:1:1  (/promt)")


def test_only_files_of_one_agent_are_listed(folder: Folder) -> None:
    folder.write("agents/mood.yaml", mood(tests=[{"name": "t", "expect": {"error": "bad_input"}}]))
    folder.write("agents/notes.json", '{"prompt": 3}')
    folder.write("older.yaml", flow())
    folder.write("big.yaml", flow(agents={"only": {"prompt": "a"}, "other": {"prompt": "b"}}))
    folder.write("r.yaml", "recording: 1\nsteps: {}\n")
    folder.write("torn.yaml", "prompt: [")
    folder.write(".hidden/mood.yaml", mood())
    ran = folder.strands("workflows", "agent", "list", "--json")
    assert [(one["name"], one["form"], one["tests"]) for one in ran.document["agents"]] == [
        ("older", "workflow", []),
        ("mood", "agent", ["t"]),
    ]
    assert "Says how a text feels." in folder.strands("workflows", "agent", "list", "agents").out


def test_an_agent_is_described(folder: Folder) -> None:
    folder.write("mood.yaml", mood(tools=["native:look"], provider="openai", model_id="m"))
    said = folder.strands("workflows", "agent", "describe", "mood.yaml").out
    for text in (
        "mood (version 2): Says how a text feels.",
        "openai m",
        "native:look",
        '"minLength": 3',
        "You say how",
    ):
        assert text in said
    shown = folder.strands("workflows", "agent", "describe", "mood.yaml", "--json").document
    assert (shown["input_schema"], shown["tools"]) == (MOOD["input_schema"], ["native:look"])


def test_every_mistake_has_its_place(folder: Folder) -> None:
    folder.write("mood.yaml", "name: mood\nprompt: You say.\ntests:\n  - name: a\n    expct: {contains: x}\n")
    ran = folder.strands("workflows", "agent", "validate", "mood.yaml")
    assert ran.code == 3
    assert (ran.codes, ran.places) == (["unknown-key"], ["mood.yaml:5:5  (/tests/0/expct)"])
    assert "`expect`" in ran.err
    marked = folder.strands("workflows", "agent", "validate", "mood.yaml", "--format", "github")
    assert marked.out.startswith("::error file=mood.yaml,line=5,col=5")


def test_a_workflow_uses_an_agent_with_its_contract(folder: Folder) -> None:
    folder.write("parts/mood.yaml", mood(output_schema="out.json", tests=[], **{"x-note": 1}))
    folder.write("parts/out.json", MOOD["output_schema"])
    step = {"agent": "only", "input": "{{ text }}"}
    pattern = {"type": "chain", "config": {"steps": [step]}}
    folder.write("older.yaml", flow(agents={"only": {"$ref": "parts/mood.yaml"}}, pattern=pattern))
    folder.write("older.recording.yaml", {"recording": 1, "steps": {"steps.0": [{"text": "eh"}, {"text": GOOD}]}})
    assert folder.strands("validate", "older.yaml").code == 0
    assert folder.strands("run", "older.yaml", "--var", "text=lovely").out == '{"mood": "good"}\n'
    refused = folder.strands("run", "older.yaml", "--var", "text=no")
    assert refused.code == 10
    assert "'no'" in refused.err


def test_a_new_agent_passes_its_tests(folder: Folder) -> None:
    made = folder.strands("workflows", "agent", "new", "agents/first")
    assert made.out.splitlines()[0] == "made agents/first.yaml"
    assert folder.strands("workflows", "agent", "validate", "agents/first.yaml").out == "agents/first.yaml: ok\n"
    assert folder.strands("workflows", "agent", "test", "agents/first.yaml").out == "2 passed\n"
    assert folder.strands("workflows", "agent", "new", "agents/first").code == 12
    assert folder.strands("workflows", "agent", "new", "a b").code == 2
    assert json.loads((folder.work / "agents/agent.schema.json").read_text("utf-8")) == agent_schema()


def test_looking_at_agents_loads_no_sdk(folder: Folder) -> None:
    folder.write("mood.yaml", mood())
    command = [sys.executable, "-X", "importtime", "-m", "strands_cli", "workflows", "agent", "validate", "mood.yaml"]
    modules = {line.rpartition("|")[2].strip() for line in folder.run(command).err.splitlines()}
    assert "strands_cli.app.agent_files" in modules
    assert not {"strands", "mcp", "boto3", "openai"} & modules


def test_a_missing_folder_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(["workflows", "agent", "list", "/no/such/folder"]) == 2
    assert "/no/such/folder" in capsys.readouterr().err


def test_a_lock_covers_the_tools_of_an_agent_by_itself(folder: Folder) -> None:
    folder.tool("look", "return answer('seen')")
    test = {"name": "a", "input": "lovely", "recording": [{"text": GOOD}], "expect": {"contains": "good"}}
    folder.write("mood.yaml", mood(tools=["native:look"], tests=[test]))
    folder.write("part.yaml", {"prompt": "You say.", "tools": ["of_the_workflow"]})
    assert folder.strands("lock").code == 0
    assert "look" in (folder.work / "strands.lock").read_text("utf-8")
    assert folder.strands("workflows", "agent", "test", "mood.yaml").code == 0
    folder.write("mood.yaml", mood(tools=["native:look", "native:see"], tests=[test]))
    folder.tool("see", "return answer('seen')")
    refused = folder.strands("workflows", "agent", "test", "mood.yaml", "--json")
    assert (refused.code, refused.document["tests"][0]["status"]) == (10, "error")
    assert "strands-tool-see" in refused.document["tests"][0]["problems"][0]
    unknown = folder.strands("lock", "part.yaml")
    assert unknown.code == 3
    assert "of_the_workflow" in unknown.err


def test_what_hinders_an_agent_is_reported_in_its_own_file(folder: Folder) -> None:
    folder.write("mood.yaml", "prompt: You say.\nprovider: openai\nmodel_id: m\ntools: [native:lok]\n")
    ran = folder.strands("workflows", "agent", "run", "mood.yaml", "--input", "x")
    assert ran.code == 3
    assert "mood.yaml:4:9  (/tools/0)" in ran.err
    assert "--> <atomic" not in ran.err
