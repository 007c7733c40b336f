"""A workflow over rows, against a model over HTTP that counts what it is asked."""

from __future__ import annotations

import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cli.strands import SECONDS, Folder, Ran, Started
from tests.fakes.model_server import ModelServer, Turn

STEPS = [{"agent": "writer", "input": "About {{ topic }}."}]
INPUTS = {"required": {"topic": "string"}, "optional": {"tone": "string"}}
OUT = "out.jsonl"


@dataclass
class Model:
    """Answers with the last word of the request in upper case; topics can be held back or made to fail.

    Attributes:
        asked: How often each topic was asked about.
        failing: Topics of which requests fail.
        silent: Topics of which requests are answered with nothing.
        held: Topics of which requests wait until they are released.
    """

    asked: Counter[str] = field(default_factory=Counter)
    failing: set[str] = field(default_factory=set)
    silent: set[str] = field(default_factory=set)
    held: dict[str, threading.Event] = field(default_factory=dict)
    arrived: threading.Condition = field(default_factory=threading.Condition)
    at_once: int = 0
    most_at_once: int = 0

    def __call__(self, request: dict[str, Any]) -> Turn:
        topic = re.findall(r"About (.*)\.", json.dumps(request["messages"][-1]))[0]
        with self.arrived:
            self.asked[topic] += 1
            self.arrived.notify_all()
        if topic in self.failing:
            return Turn(status=400)
        if topic in self.silent:
            return Turn("", usage=(10, 0))
        if topic in self.held:
            # Far longer than a test: the client is gone by then.
            return Turn(topic.upper(), usage=(10, 2), delay_s=3600 if not self.held[topic].is_set() else 0)
        return Turn(topic.upper(), usage=(10, 2))

    def wait_for(self, topic: str, times: int = 1) -> None:
        """Wait until a topic was asked about."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: self.asked[topic] >= times, SECONDS), self.asked


@dataclass
class Rows:
    """A folder with `flow.yaml` and files of rows."""

    folder: Folder
    model: Model = field(default_factory=Model)
    server: ModelServer = field(init=False)

    def __post_init__(self) -> None:
        self.server = ModelServer(self.model)

    def flow(self, steps: Sequence[Mapping[str, Any]] = STEPS, **sections: Any) -> None:
        """Write the workflow."""
        runtime = {"provider": "openai", "model_id": "m", "failure_policy": {"retries": 0}}
        runtime |= sections.pop("runtime", {})
        self.folder.workflow(steps, **{"inputs": INPUTS, "runtime": runtime, **sections})

    def csv(self, *topics: str, name: str = "rows.csv") -> None:
        """Write a file with one column."""
        self.folder.write(name, "\n".join(["topic", *topics]) + "\n")

    def strands(self, *arguments: str | Path, given: str | None = None) -> Ran:
        """Run any command with the key and the address of the model."""
        return self.folder.strands(
            *arguments, given=given, OPENAI_API_KEY="a-key-of-mine", OPENAI_BASE_URL=self.server.url
        )

    def batch(self, *more: str, rows: str = "rows.csv", out: str = OUT, given: str | None = None) -> Ran:
        """Run the batch."""
        return self.strands("batch", "flow.yaml", rows, "-o", out, *more, given=given)

    def start(self, *more: str) -> Started:
        """Start the batch and go on."""
        environ = {"OPENAI_API_KEY": "a-key-of-mine", "OPENAI_BASE_URL": self.server.url}
        return self.folder.start("batch", "flow.yaml", "rows.csv", "-o", OUT, *more, **environ)

    def lines(self, name: str = OUT) -> list[dict[str, Any]]:
        """Return the results."""
        return [json.loads(line) for line in (self.folder.work / name).read_text("utf-8").splitlines()]

    def responses(self) -> list[str | None]:
        """Return the response of each line."""
        return [line["response"] for line in self.lines()]

    @property
    def asked(self) -> dict[str, int]:
        """How often each topic was asked about."""
        return dict(self.model.asked)

    def until(self, found: Callable[[], Any]) -> Any:
        """Return what is found, as soon as it is something."""
        deadline, pause = time.monotonic() + SECONDS, threading.Event()
        while not (value := found()):
            assert time.monotonic() < deadline, "it was not found"
            pause.wait(0.05)
        return value

    def id_of(self, ran: Ran) -> str:
        """Return the id of the batch that a command named on stderr."""
        return re.findall(r"^batch (\S+): ", ran.err, re.MULTILINE)[0]
