"""No call of a tool changes what decides over the run or the next one: its workflow, what that names, its policy."""

from __future__ import annotations

from tests.cli.strands import Folder

FLOW = """version: 2
name: flow
runtime: {provider: replay, recording: turns.yaml}
tools: {python_path: [.], python: ["wiki:wiki", "lore.pages:pages"]}
agents:
  clerk: {prompt: You act., tools: [native:file_write, "wiki:wiki", "lore.pages:pages"]}
pattern: {type: chain, config: {steps: [{agent: clerk, input: Go.}]}}
"""
RULES = "version: 1\nrules: [{allow: strands-tool-files/file_write}]\n"
PYTHON = """
TOOL_SPEC = {
    "name": "%s",
    "description": "Read a page.",
    "inputSchema": {"json": {"type": "object", "properties": {"page": {"type": "string"}}}},
    "annotations": {"readOnlyHint": True},
}


def %s(tool, **kwargs):
    return {"status": "success", "content": [{"text": "a page"}]}
"""
GUARDED = ["flow.yaml", "turns.yaml", "rules.yaml", "wiki.py", "lore/pages.py", "lore/new.py", "./lore/../WIKI.py"]


def test_what_decides_over_the_run_is_not_written(folder: Folder) -> None:
    calls = "".join(f"      - {{file_write: {{path: {path}, content: owned}}}}\n" for path in [*GUARDED, "free.txt"])
    turns = f"recording: 1\nsteps:\n  steps.0:\n    - calls:\n{calls}    - text: Done.\n"
    (folder.work / "lore").mkdir()
    texts = {"flow.yaml": FLOW, "turns.yaml": turns, "rules.yaml": RULES}
    texts |= {"wiki.py": PYTHON % ("wiki", "wiki"), "lore/pages.py": PYTHON % ("pages", "pages")}
    texts["lore/__init__.py"] = ""
    for name, text in texts.items():
        (folder.work / name).write_text(text)
    allowed = {"STRANDS_CUSTOM_TOOL_ALLOWLIST": "wiki:wiki,lore.pages:pages"}
    ran = folder.strands("run", "flow.yaml", "--policy", "rules.yaml", "--json", "--events", "events.jsonl", **allowed)
    assert (ran.code, (folder.work / "free.txt").read_text()) == (0, "owned"), ran.err
    assert {name: (folder.work / name).read_text() for name in texts} == texts
    assert sorted(path.name for path in (folder.work / "lore").glob("*.py")) == ["__init__.py", "pages.py"]
    assert (folder.work / "events.jsonl").read_text().count('"error_code": "sandbox_violation"') == len(GUARDED)
