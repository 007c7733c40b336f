"""`strands run` against a model over HTTP, through the provider's real client; and what a machine may lack for that."""

from __future__ import annotations

import json
import re
import socket

from tests.cli.strands import EXAMPLES, Folder
from tests.fakes.model_server import ModelServer, Turn
from tests.yaml_texts import read_yaml

ONE_STEP = [{"agent": "writer", "input": "Write."}]
AT_ONCE = {"failure_policy": {"retries": 0}}
LIVE = {"runtime": {"provider": "openai", "model_id": "m", **AT_ONCE}}


def turns_of_quickstart() -> list[Turn]:
    """Return what the recording says, as a model over HTTP would say it."""
    recording = read_yaml((EXAMPLES / "quickstart.recording.yaml").read_text())
    return [
        Turn(
            turn.get("text", ""),
            calls=[(name, given) for call in turn.get("calls", ()) for name, given in call.items()],
            usage=tuple(turn["usage"]),
        )
        for turns in recording["steps"].values()
        for turn in turns
    ]


def test_the_quickstart_runs_the_same_with_a_live_model(folder: Folder) -> None:
    folder.examples()
    with ModelServer(turns_of_quickstart()) as server:
        ran = folder.strands(
            "run",
            "examples/quickstart.yaml",
            "--provider",
            "openai",
            "--model",
            "m",
            "--record",
            "again.yaml",
            OPENAI_API_KEY="any",
            OPENAI_BASE_URL=server.url,
        )
        assert server.remaining == 0
        requests = server.model_requests
    assert ran.code == 0, ran.err
    replayed = folder.strands("run", "examples/quickstart.yaml", "--out", "replayed", "--quiet")
    assert ran.out == replayed.out
    report = (folder.work / "artifacts" / "report.md").read_bytes()
    assert report == (folder.work / "replayed" / "report.md").read_bytes()
    assert re.search(r"\b1818\b", ran.err)
    assert all(request["model"] == "m" and request["stream"] for request in requests)
    assert {tool["function"]["name"] for tool in requests[0]["tools"]} == {"file_read", "python_exec"}
    assert not requests[-1].get("tools"), "the last step has none"
    results = [message for message in requests[2]["messages"] if message["role"] == "tool"]
    assert "208" in json.dumps(results), "the sandbox really computed"
    spec = (folder.work / "examples" / "quickstart.yaml").read_text()
    folder.write("examples/again.yaml", spec.replace("quickstart.recording.yaml", "../again.yaml"))
    again = folder.strands("run", "examples/again.yaml", "--out", "third", "--quiet")
    assert (again.code, again.out) == (0, ran.out), "what was recorded plays the same run"


def test_a_host_can_be_typed_or_come_from_the_environment_and_a_resumed_run_has_it_again(folder: Folder) -> None:
    runtime = {"provider": "${WHO:-openai}", "model_id": "m", "host": "http://${PLACE}/v1", **AT_ONCE}
    folder.workflow([*ONE_STEP, {"type": "hitl", "prompt": "Go on?"}, *ONE_STEP], runtime=runtime)
    with ModelServer([Turn("one"), Turn("two"), Turn("three")]) as server:
        place = re.sub(r"https?://|/v1.*", "", server.url)
        ran = folder.strands("run", "flow.yaml", "--detach", "--host", server.url, OPENAI_API_KEY="any", PLACE="no:1")
        assert ran.code == 19, ran.err
        (run,) = folder.strands("runs", "list", "--json").document["runs"]
        again = folder.strands("approve", run["id"], "--answer", "yes", OPENAI_API_KEY="any", PLACE="no:1")
        assert (again.code, again.out) == (0, "two\n"), again.err
        folder.workflow(ONE_STEP, runtime=runtime)
        ran = folder.strands("run", "flow.yaml", OPENAI_API_KEY="any", PLACE=place)
        assert (ran.code, ran.out) == (0, "three\n"), ran.err
    ran = folder.strands("run", "flow.yaml", OPENAI_API_KEY="any")
    assert (ran.code, ran.codes) == (18, ["unset-variable"])
    assert folder.strands("validate", "flow.yaml").code == 0


def test_verbose_streams_what_the_model_says(folder: Folder) -> None:
    folder.workflow(ONE_STEP, **LIVE)
    with ModelServer([Turn("a rather long answer\nof two lines")], chunk_chars=4) as server:
        ran = folder.strands("run", "flow.yaml", "-v", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
    assert "\n  > a rather long answer\n  > of two lines\n  done  steps.0" in ran.err


def test_the_error_of_a_model_is_reported_with_what_helps(folder: Folder) -> None:
    folder.workflow(ONE_STEP, **LIVE)
    for turn, said in (
        (Turn(status=401), r"^  fix: .*\bAPI key\b"),
        (Turn(status=404), r"^  fix: .*'m'"),
        (Turn(status=400), r"^  fix: .*\bmodel_id\b.*\btools\b.*strands plan"),
        (Turn(status=422), r"^  fix: .*\bmodel_id\b.*\btools\b.*strands plan"),
        (Turn(drop_after_chunks=0), r"\bopenai/m .*'writer'"),
    ):
        with ModelServer([turn], repeat=True) as server:
            ran = folder.strands("run", "flow.yaml", OPENAI_API_KEY="any", OPENAI_BASE_URL=server.url)
        assert ran.code == 10
        assert re.search(said, ran.err, re.MULTILINE)
        reason = re.findall("FAILED steps.0  writer: (.*)", ran.err)
        assert len(reason) == 1
        assert ran.err.count(reason[0]) == 1
        assert "\nerror: steps.0 failed\n" in ran.err
        assert "Traceback" not in ran.err


def test_a_model_that_cannot_be_reached_is_reported_with_its_host(folder: Folder) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused
        host = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        folder.workflow(ONE_STEP, runtime={"provider": "openai", "model_id": "m", "host": host, **AT_ONCE})
        ran = folder.strands("run", "flow.yaml", "--json", OPENAI_API_KEY="any")
    assert ran.code == 10
    assert host in ran.err
    assert ran.document["status"] == "failed"


def test_a_missing_key_is_exit_18_before_anything_is_loaded(folder: Folder) -> None:
    folder.workflow(ONE_STEP, **LIVE)
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 18
    assert "error[missing-api-key]" in ran.err
    assert "fix: export OPENAI_API_KEY=..." in ran.err
    assert not folder.runs.exists()


def test_a_missing_extra_is_exit_18_with_the_line_that_installs_it(folder: Folder) -> None:
    folder.workflow(ONE_STEP, runtime={"provider": "writer", "model_id": "palmyra"})
    ran = folder.strands("run", "flow.yaml", WRITER_API_KEY="any")
    assert ran.code == 18
    assert "fix: pip install 'strands-cli[writer]'" in ran.err


def test_a_directory_that_this_machine_lacks_is_exit_18(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"text": "no"}]}, env={"mounts": {"archive": "archive"}})
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 18, ran.err
    assert "'archive'" in ran.err


def test_a_request_that_the_recording_does_not_fit_fails_with_the_difference(folder: Folder) -> None:
    folder.workflow(ONE_STEP, {"steps.0": [{"when": "Write something else.", "text": "no"}]})
    ran = folder.strands("run", "flow.yaml")
    assert ran.code == 10
    assert "-Write something else." in ran.err
    assert "+Write." in ran.err
