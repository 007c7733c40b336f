"""An answer that ends with a reason that is not known: used, with one warning wherever a person looks."""

from __future__ import annotations

from tests.cli.strands import Folder
from tests.fakes.raw_server import RawServer, chat


def test_an_unknown_end_is_one_warning_on_stderr_in_json_and_in_runs_show(folder: Folder) -> None:
    steps = [{"agent": "writer", "input": text} for text in ("one", "two {{ last_response }}")]
    folder.workflow(steps, runtime={"provider": "openai", "model_id": "m"})
    with RawServer(chat("well", "weird")) as server:
        environ = {"OPENAI_API_KEY": "any", "OPENAI_BASE_URL": f"{server.host}/v1"}
        ran = folder.strands("run", "flow.yaml", "--json", **environ)
    assert (ran.code, ran.document["response"]) == (0, "well"), ran.err
    assert ran.err.count("'weird'") == 1
    (found,) = [one for one in ran.document["findings"] if one["code"] == "unknown-end"]
    assert (found["severity"], bool(found["fix"])) == ("warning", True)
    assert "2 answers ended with 'weird'" in folder.strands("runs", "show", "last").out
    assert folder.strands("runs", "show", "last", "--json").document["unknown_ends"] == {"weird": 2}
