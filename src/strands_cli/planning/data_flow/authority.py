"""The programs, files and addresses that a workflow names, and their places; `planned_authority` adds who gets each."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.planning.plan_values import place_of
from strands_cli.planning.planned_tool import reached_by, secrets_in
from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import canonical_json
from strands_cli.workflow.steps import AgentStep
from strands_cli.yaml_files.document import escape

if TYPE_CHECKING:
    from strands_cli.planning.plan_values import Plan
    from strands_cli.workflow.model import WorkflowSpec
    from strands_cli.workflow.sections import Secret
    from strands_cli.workflow.steps import McpServer, ToolEntry

# In a tool's `config`: non-public addresses that may still be reached.
PRIVATE = "allow_private"
# The file of a workflow that is the question of a person.
QUESTION = "<ask>"
# How the use of an address by models begins.
OF_MODELS = "the models of "
Kind = Literal["program", "file", "variable", "store", "folder", "network", "address", "sending"]


@dataclass(frozen=True, slots=True)
class Use:
    """One thing that a workflow starts, reads, opens or reaches.

    Attributes:
        kind: The kind: a `store` is a keyring or a cloud service, a `network` one that is not public, `sending`
            private data that may leave, as a warning says.
        what: Command line, path, variable, entry or addresses, as the workflow writes it.
        by: The part of the workflow that names it: `the secret TOKEN`.
        to: Who gets it; empty if no one does, so that it is not used; None where it is not a secret or unknown.
        asks: Whether a person is asked about it once, before the first run.
        exact: The whole text of the file about it, for which an answer holds; empty where no answer depends on it.
        place: The file or folder that it leads to here, without links; empty where there is none.
        is_elsewhere: Whether that is not the path as written, because of a link, `~` or the search for a program.
    """

    kind: Kind
    what: str
    by: str
    to: tuple[str, ...] | None = None
    asks: bool = False
    exact: str = ""
    place: str = ""
    is_elsewhere: bool = False

    @property
    def is_idle(self) -> bool:
        """Return whether no one gets it, so that it is neither started nor read."""
        return self.to == ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `plan`, `explain` and `validate`."""
        to = None if self.to is None else list(self.to)
        real_place = self.place if self.is_elsewhere else None
        return {"kind": self.kind, "what": self.what, "by": self.by, "to": to, "asks": self.asks, "place": real_place}


def uses_in(plan: Plan) -> tuple[Use, ...]:
    """Return the uses that a workflow names, without the workflows among its tools."""
    spec, getting = plan.spec, [*_getting(plan.spec), *_models_getting(plan)]
    uses = [
        *(_of_secret(secret, getting, plan) for secret in spec.env.secrets),
        *(_of_path("folder", path, f"the mount {name}", plan, exact=path) for name, path in spec.env.mounts.items()),
        *(use for server in spec.tools.mcp for use in _of_server(server, plan)),
        *(
            _reached(executor.base_url, f"the executor {executor.id}", canonical_json(executor.sent))
            for executor in spec.tools.http_executors
        ),
        *(use for _, entry in entries_of(spec) for use in _of_config(entry, plan)),
        *_of_runtime(plan),
        *_of_notes(plan),
        *_of_attachments(plan),
    ]
    return tuple(dict.fromkeys(uses))


def may_use(spec: WorkflowSpec) -> bool:
    """Return whether a workflow can have uses at all: it names some, or another workflow, which may."""
    takes_variables = spec.env.take_variables and spec.named_tools()
    own = takes_variables or spec.env.secrets or spec.env.mounts or spec.tools.mcp or spec.tools.http_executors
    sends = spec.runtime.host or spec.runtime.recording or spec.telemetry.otel or spec.context_policy.notes
    attaches = any(getattr(placed.step, "attachments", ()) for placed in spec.pattern.placed)
    is_configured = attaches or any(entry.config for _, entry in entries_of(spec))
    return bool(own or sends or is_configured or any(name.startswith("workflow:") for name in spec.named_tools()))


def entries_of(spec: WorkflowSpec) -> Iterator[tuple[str, ToolEntry]]:
    """Yield every tool that a workflow lists, with its place in the file."""
    lists = {"/tools/python": spec.tools.python}
    lists |= {f"/agents/{escape(name)}/tools": agent.tools or () for name, agent in spec.agents.items()}
    for placed in spec.pattern.placed:
        if isinstance(placed.step, AgentStep) and placed.step.tool_overrides is not None:
            lists[placed.at("tool_overrides")] = placed.step.tool_overrides
    for pointer, entries in lists.items():
        for index, entry in enumerate(entries):
            yield f"{pointer}/{index}", entry


def is_outside(path: str, folder: Path) -> bool:
    """Return whether a path without links is not in a folder."""
    try:
        return Path(os.path.relpath(path, os.path.realpath(folder))).parts[:1] == (os.pardir,)
    except ValueError:  # on another drive of Windows
        return True


def opened_networks(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the private networks that the configuration of a tool opens."""
    named = config.get(PRIVATE)
    return tuple(map(str, named)) if isinstance(named, (list, tuple)) else (str(named),) if named else ()


def host_and_port(url: str) -> str:
    """Return host and port of an address, without parts that may be a password or a key."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url if "://" in url else f"//{url}").netloc.rpartition("@")[2] or url
    except ValueError:
        return "an address that cannot be read"


def _getting(spec: WorkflowSpec) -> list[tuple[str, tuple[str, ...]]]:
    """Return who gets secrets by the file, each with every text in which a secret may be named."""
    return [
        *(
            (f"the MCP server {server.id}", _texts([dict(server.env), dict(server.headers)]))
            for server in spec.tools.mcp
        ),
        *(
            (f"the executor {executor.id}", _texts([executor.base_url, executor.sent]))
            for executor in spec.tools.http_executors
        ),
        *((f"the tool {entry.as_ or entry.tool}", _texts(entry.config)) for _, entry in entries_of(spec)),
    ]


def _models_getting(plan: Plan) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name, agent in plan.agents.items():
        yield f"the model of {name}", secrets_in([[model.host, model.options] for model in agent.models])


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value, *secrets_in(value))
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return tuple(text for item in items for text in _texts(item))


def _of_secret(secret: Secret, getting: list[tuple[str, tuple[str, ...]]], plan: Plan) -> Use:
    name, path = secret.name or secret.key, secret.path or ""
    to = tuple(dict.fromkeys(who for who, texts in getting if name in texts)) or None
    by, exact = f"the secret {name}", canonical_json([secret.key, secret.source, path])
    if secret.source == "file":
        return replace(_of_path("file", path, by, plan, exact=exact), to=to)
    if secret.source == "command":
        program = _found_program(_first_word(path), plan.base_dir)
        return Use("program", path, by, to, asks=True, exact=exact, place=program, is_elsewhere=bool(program))
    if secret.source == "env":
        return Use("variable", secret.key, by, to, exact=exact)
    return Use("store", f"{secret.source} {'/'.join(filter(None, (path, secret.key)))}", by, to, exact=exact)


def _of_path(kind: Kind, path: str, by: str, plan: Plan, *, exact: str = "") -> Use:
    """Return the use of a path: a person is asked about one outside of the folder and of the working directory."""
    real_path = plan.places.get(path) or place_of(plan.base_dir, path)
    asks = bool(exact) and all(is_outside(real_path, inside) for inside in (plan.base_dir, Path.cwd()))
    folder = plan.project if path in plan.places else plan.base_dir
    plain = os.path.normpath(os.path.realpath(folder) / Path(path))
    return Use(kind, path, by, asks=asks, exact=exact, place=real_path, is_elsewhere=real_path != plain)


def _first_word(command: str) -> str:
    try:
        return next(iter(shlex.split(command)), "")
    except ValueError:
        return ""


def _found_program(name: str, folder: Path, path: str | None = None) -> str:
    """Return the file that starts for a program, without links; empty if there is none."""
    named = os.path.join(folder, name) if os.sep in name else name  # noqa: PTH118 - a program's name
    program = shutil.which(named, path=path) if name else None
    return os.path.realpath(program) if program else ""


def _of_server(server: McpServer, plan: Plan) -> Iterator[Use]:
    by, exact = f"the MCP server {server.id}", canonical_json([dict(server.env), dict(server.headers)])
    if server.url is not None:
        yield _reached(server.url, by, exact)
        if server.proxy is not None:
            yield _reached(server.proxy, f"the proxy of {by}", exact)
        if server.allow_private:
            yield Use("network", ", ".join(server.allow_private), by, asks=True, exact=exact)
        return
    variables = f" (with the variables {', '.join(server.env)})" if server.env else ""
    folder = plan.spec.folder_of_servers(plan.base_dir)
    program = _found_program(server.command or "", folder, server.env.get("PATH"))
    command = reached_by(server) + variables
    yield Use("program", command, by, asks=True, exact=exact, place=program, is_elsewhere=bool(program))


def _of_config(entry: ToolEntry, plan: Plan) -> Iterator[Use]:
    by, config, exact = f"the tool {entry.as_ or entry.tool}", entry.config, canonical_json(entry.config)
    if networks := opened_networks(config):
        yield Use("network", ", ".join(networks), by, asks=True, exact=exact)
    if isinstance(proxy := config.get("proxy"), str):
        yield _reached(proxy, f"the proxy of {by}", exact)
    if isinstance(file := config.get("ca_file"), str):
        yield _of_path("file", file, by, plan, exact=exact)


def _of_runtime(plan: Plan) -> Iterator[Use]:
    runtime, otel = plan.spec.runtime, plan.spec.telemetry.otel
    recording = _of_path("file", runtime.recording or "", "the recording", plan)
    if runtime.recording is not None and is_outside(recording.place, plan.base_dir):
        yield recording
    if runtime.host and runtime.provider != "replay":  # is empty where its variable is not set
        by = f"{OF_MODELS}{runtime.provider}, with their key"
        yield replace(_reached(runtime.host, by, ""), asks=False, exact="")
    for model in dict.fromkeys(_others_with_hosts(plan)):
        yield replace(_reached(model[1], f"{OF_MODELS}{model[0]}, with their key", ""), asks=False, exact="")
    if otel is not None and otel.endpoint not in (None, "console"):
        yield replace(_reached(str(otel.endpoint), "the traces", ""), asks=False, exact=str(otel.endpoint))


def _others_with_hosts(plan: Plan) -> Iterator[tuple[str, str]]:
    """Yield provider and host of each listed model whose host is not that of `runtime`."""
    runtime = plan.spec.runtime
    for model in (model for agent in plan.agents.values() for model in agent.models):
        is_known = (model.provider, model.host) == (runtime.provider, runtime.host)
        if model.host and model.provider != "replay" and not is_known:
            yield model.provider, model.host


def _of_notes(plan: Plan) -> Iterator[Use]:
    """Yield the file of notes: its text, of any author, is given to models."""
    if (notes := plan.spec.context_policy.notes) is not None:
        realpath = os.path.realpath(Path.cwd() / notes.file)
        yield Use("file", notes.file, "the notes, which its models read", place=realpath)


def _of_attachments(plan: Plan) -> Iterator[Use]:
    """Yield the files that steps send; those of a question are the word of the person who asks it."""
    for placed in plan.spec.pattern.placed:
        step = placed.step
        if not isinstance(step, AgentStep):
            continue
        for attached in step.attachments:
            by, to = f"an attachment of {placed.key}", (f"the model of {step.agent}",)
            if "{{" in attached.path or "{%" in attached.path:  # inside the folders of the workflow
                yield Use("file", attached.path, by, to, exact=attached.path)
                continue
            use = _of_path("file", attached.path, by, plan, exact=attached.path)
            yield replace(use, to=to, asks=use.asks and plan.file != QUESTION)


def _reached(url: str, by: str, exact: str) -> Use:
    """Return the use of an address: a person is asked about each that may not be public."""
    from strands_cli.addresses.written_places import is_public

    asks = not is_public(url)
    return Use("network" if asks else "address", host_and_port(url), by, asks=asks, exact=canonical_json([url, exact]))
