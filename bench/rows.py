"""The table of budgets: one row each, with the commands that are measured and how their surroundings are made."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bench.measure import Command, Figure, clean_environment, measure_pair, spend

CLONE = Path(__file__).resolve().parent.parent
STRANDS = str(Path(sys.executable).with_name("strands"))
MANY = 1000
# As many characters as a token has on average: a piece of an answer is what a provider sends.
TOKEN = 4


@dataclass(frozen=True)
class Pair:
    """A subject with the reference that its ratio is taken against."""

    subject: Command
    reference: Command


@dataclass(frozen=True)
class Row:
    """One budget: a ratio to like work in the same run, or a peak in MB; None where there is no such bound.

    Milliseconds are printed and not judged: they are the machine's.

    `measure` gets an empty folder and the number of pairs.
    """

    name: str
    what: str
    measure: Callable[[Path, int], Figure]
    ratio: float | None = None
    mb: float | None = None


def against_sdk(*arguments: str, prepare: Callable[[Path], dict[str, str]] | None = None) -> Callable[..., Figure]:
    """Measure `strands ARGUMENTS` against `python -c "import strands"`; `prepare` fills the folder, gives variables."""

    def measure(folder: Path, pairs: int) -> Figure:
        environment = clean_environment(HOME=str(folder), **(prepare(folder) if prepare else {}))
        subject = Command([STRANDS, *arguments], folder, environment)
        reference = Command([sys.executable, "-c", "import strands"], folder, environment)
        return measure_pair(subject, reference, pairs)

    return measure


def in_pairs(setting: Callable[[Path], AbstractContextManager[Pair]]) -> Callable[..., Figure]:
    """Measure a pair of commands inside its setting, such as a server."""

    def measure(folder: Path, pairs: int) -> Figure:
        with setting(folder) as pair:
            return measure_pair(pair.subject, pair.reference, pairs)

    return measure


def printed_by(module: str, *arguments: str, chunk_chars: int = 16) -> Callable[..., Figure]:
    """Take the figure that a program of this package prints as JSON with the fields of `Figure`.

    For what only one process can know, such as a cost without its imports. A piece of the model server's answers has
    `chunk_chars` characters.
    """

    def measure(folder: Path, pairs: int) -> Figure:
        with model_server(folder, chunk_chars) as url:
            environment = clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE), BENCH_URL=url)
            spend(Command([sys.executable, "-m", module, *arguments, "--pairs", str(pairs)], folder, environment))
        lines = (folder / "bench-child.log").read_text(encoding="utf-8").strip().splitlines()
        figure = json.loads(lines[-1])
        return Figure(**{name: figure.get(name) for name in ("ms", "mb", "ratio", "spread")})

    return measure


def make_run_of(steps: int) -> Callable[[Path], dict[str, str]]:
    """Return what makes the record of a run of so many steps in a folder, and returns the variables that lead to it."""

    def make(folder: Path) -> dict[str, str]:
        runs = folder / "runs"
        runs.mkdir()
        # In a process of its own, since a parent that has grown is measured with its children.
        program = f"from pathlib import Path; from bench.long_run import make; make(Path({str(runs)!r}), {steps})"
        environment = clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE))
        spend(Command([sys.executable, "-c", program], folder, environment))
        return {"STRANDS_RUNS_DIR": str(runs)}

    return make


# Each step is two effects, itself and its model call.
make_long_run = make_run_of(10 * MANY)


def make_many_runs(folder: Path) -> dict[str, str]:
    """Make the records of 5,000 runs that have ended, listed once; return the variables that lead to them."""
    runs = folder / "runs"
    environment = clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE))
    spend(Command([sys.executable, "-m", "bench.many_runs", str(runs)], folder, environment))
    return {"STRANDS_RUNS_DIR": str(runs)}


def many_tasks(folder: Path, pairs: int) -> Figure:
    """Measure 1,000 tasks side by side in wall time against the bare SDK; `mb` is what they need more than 200 do."""
    environment = clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE))
    command = [sys.executable, "-m", "bench.many_tasks"]
    sizes = ("200", str(MANY))
    peaks = [spend(Command([*command, n, "--pairs", str(pairs)], folder, environment)).mb for n in sizes]
    figure = json.loads((folder / "bench-child.log").read_text(encoding="utf-8").strip().splitlines()[-1])
    return Figure(ms=figure["ms"], ratio=figure["ratio"], mb=peaks[1] - peaks[0])


def install_many(folder: Path) -> dict[str, str]:
    """Lay out 1,000 distributions of one tool each, with manifests, in a directory of `sys.path`."""
    site = folder / "site"
    for number in range(MANY):
        name = f"strands-tool-made-{number}"
        package = name.replace("-", "_")
        dist = site / f"{package}-1.0.dist-info"
        dist.mkdir(parents=True)
        (dist / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (dist / "RECORD").write_text(f"{package}/__init__.py,,\n{package}/strands_tools.json,,\n")
        (dist / "entry_points.txt").write_text(f"[strands_cli.tools]\nmade_{number} = {package}\n")
        (site / package).mkdir()
        (site / package / "__init__.py").write_text('raise ImportError("a listing imports no plugin")\n')
        (site / package / "strands_tools.json").write_text(json.dumps(made_manifest(name, f"made_{number}", package)))
    return {"PYTHONPATH": str(site)}


def index_many(folder: Path) -> dict[str, str]:
    """Make the search file of an index of 1,000 distributions of one tool each, in the folder `site`."""
    from strands_cli_index.reading.search_file import search_text
    from strands_cli_index.reading.site_files import SEARCHED

    site = folder / "site"
    site.mkdir()
    lines = []
    for number in range(MANY):
        (tool,) = made_manifest(f"strands-tool-made-{number}", f"made_{number}", f"strands_tool_made_{number}")["tools"]
        shown = {
            "name": tool["name"],
            "description": tool["description"],
            "permissions": "only reads; filesystem ** (read)",
        }
        known = {"summary": "A tool for Strands agents.", "publisher": "", "check": "no problems"}
        lines.append({"name": f"strands-tool-made-{number}", "versions": ["1.0"], "tools": [shown], **known})
    (site / SEARCHED).write_text(search_text(lines), encoding="utf-8")
    return {}


def made_manifest(distribution: str, tool: str, package: str) -> dict[str, Any]:
    """Return a manifest of one tool of ordinary size."""
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where."},
            "limit": {"type": "integer", "default": 10},
        },
        "required": ["path"],
    }
    declared = {
        "name": tool,
        "entry": package,
        "kind": "module",
        "description": "Read something made for a measurement and return it.",
        "input_schema": schema,
        "annotations": {"readOnlyHint": True, "openWorldHint": False},
        "strands_cli": {"capabilities": {"filesystem": [{"path": "**", "mode": "read"}]}, "timeout_s": 10},
        "family": "made",
    }
    return {
        "manifest_version": 1,
        "api": {"min": 1, "max": 1},
        "distribution": distribution,
        "tools": [declared],
    }


CHAIN = """version: 2
name: bench-chain
runtime: {{provider: openai, model_id: bench, host: "{url}"}}
agents:
  first: {{prompt: Answer in one line., tools: []}}
  second: {{prompt: Answer in one line., tools: []}}
  third: {{prompt: Answer in one line., tools: []}}
pattern:
  type: chain
  config:
    steps:
      - {{agent: first, input: "Say a word about rivers."}}
      - {{agent: second, input: "Go on from here: {{{{ last_response }}}}"}}
      - {{agent: third, input: "Sum up: {{{{ last_response }}}}"}}
"""


def write_chain(folder: Path, url: str = "http://127.0.0.1:9/v1") -> dict[str, str]:
    """Write a chain of three agents; return the variables it needs."""
    (folder / "chain.yaml").write_text(CHAIN.format(url=url), encoding="utf-8")
    return {"OPENAI_API_KEY": "not-a-key"}


@contextmanager
def model_server(folder: Path, chunk_chars: int = 16) -> Iterator[str]:
    """Run the scripted OpenAI-compatible server in a process of its own, so that its cost is not counted."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.fakes.model_server", "--port", "0", "--chunk-chars", str(chunk_chars)],
        cwd=CLONE,
        env=clean_environment(HOME=str(folder)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        url = re.search(r"http://\S+", server.stdout.readline())
        if url is None:
            raise RuntimeError("the model server printed no address")
        yield url[0]
    finally:
        server.stdin.close()
        server.wait(timeout=10)
        server.stdout.close()


# The raw SDK's program of one line that asks a question.
ONE_LINE = (
    "import os; from strands import Agent; from strands.models.openai import OpenAIModel;"
    " print(Agent(OpenAIModel(client_args={'base_url': os.environ['OPENAI_BASE_URL'], 'api_key': 'not-a-key'},"
    " model_id='bench'), callback_handler=None)('Say a word about rivers.'))"
)


@contextmanager
def ask_against_raw_sdk(folder: Path) -> Iterator[Pair]:
    """Give `strands ask` and the raw SDK's line the same question."""
    with model_server(folder) as url:
        environment = clean_environment(HOME=str(folder), OPENAI_BASE_URL=url, OPENAI_API_KEY="not-a-key")
        ask = [STRANDS, "ask", "Say a word about rivers.", "-m", "openai/bench"]
        raw = [sys.executable, "-c", ONE_LINE]
        yield Pair(Command(ask, folder, environment), Command(raw, folder, environment))


@contextmanager
def run_against_raw_sdk(folder: Path) -> Iterator[Pair]:
    """Yield `strands run` of the chain, and a script on the bare SDK that makes the same three calls."""
    with model_server(folder) as url:
        environment = clean_environment(HOME=str(folder), PYTHONPATH=str(CLONE), **write_chain(folder, url))
        run = [STRANDS, "run", "chain.yaml", "--runs-dir", str(folder / "runs"), "--out", str(folder / "out")]
        raw = [sys.executable, "-m", "bench.raw_chain", url]
        yield Pair(Command(run, folder, environment), Command(raw, folder, environment))


def report_of_long_run(folder: Path, pairs: int) -> Figure:
    """Measure the report of a run of 10,000 effects against importing the SDK; `mb` is the size of the file."""
    measured = against_sdk("runs", "report", "long", "-o", "long.html", "--force", prepare=make_run_of(MANY * 5))
    figure = measured(folder, pairs)
    return replace(figure, mb=(folder / "long.html").stat().st_size / 1_000_000)


@contextmanager
def one_effect_of_a_long_run(folder: Path) -> Iterator[Pair]:
    """Yield the same command for one effect: of a run of 10,000 effects, and of one of 10."""
    places = {"many": MANY * 5, "few": 5}
    for name, steps in places.items():
        (folder / name).mkdir()
        make_run_of(steps)(folder / name)
    environment = clean_environment(HOME=str(folder))
    show = [STRANDS, "runs", "show", "long", "nodes.there#1/model.0", "--runs-dir"]
    many, few = (Command([*show, str(folder / name / "runs")], folder, environment) for name in places)
    yield Pair(many, few)


CHOSEN = (7, 500, 993)
DECORATED = """from strands import tool


@tool
def made_{number}(path: str, limit: int = 10) -> str:
    "Read something made for a measurement and return it."
    return path
"""
THREE = """version: 2
name: bench-three
runtime: {{provider: replay, recording: three.recording.yaml}}
agents: {{only: {{prompt: Answer., tools: [{tools}]}}}}
pattern: {{type: chain, config: {{steps: [{{agent: only, input: Go.}}]}}}}
"""


@contextmanager
def three_against_importing_them(folder: Path) -> Iterator[Pair]:
    """Yield loading 3 of 1,000 tools for a workflow, and just importing these 3; all others cannot be imported."""
    environment = install_many(folder)
    site, packages = Path(environment["PYTHONPATH"]), [f"strands_tool_made_{number}" for number in CHOSEN]
    for number, package in zip(CHOSEN, packages, strict=True):
        (site / package / "__init__.py").write_text(DECORATED.format(number=number))
        document = made_manifest(package.replace("_", "-"), f"made_{number}", package)
        document["tools"][0] |= {"kind": "suite", "annotations": {}, "strands_cli": {}}
        (site / package / "strands_tools.json").write_text(json.dumps(document))
    tools = ", ".join(f"native:made_{number}" for number in CHOSEN)
    (folder / "three.yaml").write_text(THREE.format(tools=tools), encoding="utf-8")
    (folder / "three.recording.yaml").write_text("recording: 1\nsteps: {steps.0: [{text: Done.}]}\n", encoding="utf-8")
    environment = clean_environment(HOME=str(folder), PYTHONPATH=f"{site}{os.pathsep}{CLONE}")
    subject = Command([sys.executable, "-m", "bench.three_of_many", "three.yaml"], folder, environment)
    reference = Command([sys.executable, "-c", f"import {', '.join(packages)}"], folder, environment)
    yield Pair(subject, reference)


ROWS = [
    Row("version", "strands --version", against_sdk("--version"), ratio=0.05, mb=32),
    Row("help", "strands --help", against_sdk("--help"), ratio=0.12, mb=36),
    Row("help-many", "the same with 1,000 distributions more", against_sdk("--help", prepare=install_many), ratio=0.12),
    Row("list", "strands list-tools --json, first-party tools", against_sdk("list-tools", "--json"), ratio=0.15),
    Row(
        "list-many",
        "the same with 1,000 distributions more",
        against_sdk("list-tools", "--json", prepare=install_many),
        ratio=0.45,
    ),
    Row(
        "search",
        "strands plugin search, 1,000 in an index",
        against_sdk("plugin", "search", "made_500", "--index", "site", prepare=index_many),
        # A command of a distribution comes through Typer; 0.13 as a command of the core, which had a parser of its own.
        ratio=0.5,
    ),
    Row("three", "3 of 1,000 tools loaded, against importing them", in_pairs(three_against_importing_them), ratio=1.30),
    Row(
        "validate",
        "strands validate, chain of three steps",
        against_sdk("validate", "chain.yaml", prepare=write_chain),
        ratio=0.45,
        mb=48,
    ),
    Row("plan", "strands plan, the same chain", against_sdk("plan", "chain.yaml", prepare=write_chain), ratio=0.55),
    Row("ask", "strands ask, one question, against the raw SDK's one line", in_pairs(ask_against_raw_sdk), ratio=1.10),
    Row("run", "strands run, three agents, against the raw SDK", in_pairs(run_against_raw_sdk), ratio=1.10),
    Row(
        "engine", "chain of 12, openai client, without imports", printed_by("bench.engine_alone", "client"), ratio=0.50
    ),
    Row(
        "engine-one",
        "the same, the SDK keeping one client too",
        printed_by("bench.engine_alone", "shared-client"),
        ratio=1.05,
    ),
    Row(
        "row",
        "one of many runs, 200 tokens, to the raw SDK",
        printed_by("bench.row_alone", "paragraph", chunk_chars=TOKEN),
        ratio=1.30,
    ),
    Row("row-word", "the same, a dozen tokens", printed_by("bench.row_alone", "word", chunk_chars=TOKEN), ratio=2.5),
    Row("lock", "the check of a lock, to hashing its files", printed_by("bench.lock_alone", "each"), ratio=9.0),
    Row("lock-cold", "a lock of three, to the first plan without", printed_by("bench.lock_alone", "first"), ratio=0.12),
    Row(
        "effect",
        "a journaled effect, to its two bare commits",
        printed_by("bench.engine_alone", "in-process"),
        ratio=30,
    ),
    Row(
        "permission-check",
        "the check of one call, to bare jsonschema",
        printed_by("bench.permission_check_alone"),
        ratio=9.0,
    ),
    Row("resume", "10,000 steps resumed, to reading their rows", printed_by("bench.long_run", "resume"), ratio=3.0),
    Row(
        "show-long", "strands runs show, that run", against_sdk("runs", "show", "long", prepare=make_long_run), ratio=3
    ),
    Row("list-long", "strands runs list, with that run", against_sdk("runs", "list", prepare=make_long_run), ratio=0.6),
    Row("list-5000", "strands runs list, 5,000 runs", against_sdk("runs", "list", prepare=make_many_runs), ratio=0.5),
    Row("file-open", "a file opened by the file tools, to plain open", printed_by("bench.open_alone"), ratio=9.0),
    Row(
        "exec",
        "python_exec print(1), started ahead, to bare python",
        printed_by("bench.sandbox_alone", "ahead"),
        ratio=1.5,
    ),
    Row("exec-cold", "the same, not started ahead", printed_by("bench.sandbox_alone", "cold"), ratio=4.0),
    Row("report", "strands runs report, 10,000 effects; MB of the file", report_of_long_run, ratio=2.5, mb=15),
    Row("show-effect", "one effect of 10,000 shown, to one of 10", in_pairs(one_effect_of_a_long_run), ratio=1.1),
    Row("live-page", "a run that a page shows, to the run alone", printed_by("bench.live_page"), ratio=1.03),
    Row("tasks", "1,000 tasks of 50 ms, 100 at once, to the raw SDK", many_tasks, ratio=1.8, mb=12),
]
