"""What a workflow starts, reads, opens and reaches, by its file alone; `planned_authority` adds what a plan knows."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from strands_cli.canonical_json import canonical_json
from strands_cli.planning.planned_tools import SECRET_REFERENCE, reached_by
from strands_cli.workflow.steps import AgentStep
from strands_cli.workflow.yaml import escape

if TYPE_CHECKING:
    from strands_cli.workflow import WorkflowSpec
    from strands_cli.workflow.sections import Secret
    from strands_cli.workflow.steps import HttpExecutor, McpServer, ToolEntry

# In a tool's `config`: addresses that are not public and may be reached all the same.
PRIVATE = "allow_private"
Kind = Literal["program", "file", "variable", "store", "folder", "network", "address"]


@dataclass(frozen=True, slots=True)
class Use:
    """One thing that a workflow starts, reads, opens or reaches.

    Attributes:
        kind: The kind: a `store` is a keyring or a cloud service, a `network` one that is not public.
        what: The command line, path, variable, entry or addresses, as the workflow writes it.
        by: What of the workflow names it: `the secret TOKEN`.
        to: Who gets it; empty if no one does, so that it is not used; None where the file alone does not say.
        asks: Whether a person is asked about it once, before the first run.
        exact: All that the file says of it, which an answer is about; empty where no answer depends on it.
    """

    kind: Kind
    what: str
    by: str
    to: tuple[str, ...] | None = None
    asks: bool = False
    exact: str = ""

    @property
    def is_idle(self) -> bool:
        """Return whether no one gets it, so that it is neither started nor read."""
        return self.to == ()

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON of `plan`, `explain` and `validate`."""
        to = None if self.to is None else list(self.to)
        return {"kind": self.kind, "what": self.what, "by": self.by, "to": to, "asks": self.asks}


def uses_in(spec: WorkflowSpec) -> tuple[Use, ...]:
    """Return what a workflow names in its file; nothing of the machine is looked at."""
    getting = _getting(spec)
    found = [
        *(_of_secret(secret, getting) for secret in spec.env.secrets),
        *(_of_mount(name, path) for name, path in spec.env.mounts.items()),
        *(_of_server(server) for server in spec.tools.mcp),
        *(_of_executor(executor) for executor in spec.tools.http_executors),
        *(use for _, entry in entries_of(spec) for use in _of_config(entry)),
        *_of_runtime(spec),
    ]
    return tuple(dict.fromkeys(found))


def entries_of(spec: WorkflowSpec) -> Iterator[tuple[str, ToolEntry]]:
    """Yield every tool that a workflow lists, with its place in the file."""
    lists = {"/tools/python": spec.tools.python}
    lists |= {f"/agents/{escape(name)}/tools": agent.tools or () for name, agent in spec.agents.items()}
    for placed in spec.pattern.steps():
        if isinstance(placed.step, AgentStep) and placed.step.tool_overrides is not None:
            lists[placed.at("tool_overrides")] = placed.step.tool_overrides
    for pointer, entries in lists.items():
        for index, entry in enumerate(entries):
            yield f"{pointer}/{index}", entry


def is_outside(path: str) -> bool:
    """Return whether a path leads out of the workflow's folder, by its words alone."""
    plain = path.replace("\\", "/")
    return plain.startswith(("/", "~")) or plain[1:2] == ":" or posixpath.normpath(plain).split("/")[0] == ".."


def opened_networks(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the private networks that the configuration of a tool opens."""
    named = config.get(PRIVATE)
    return tuple(map(str, named)) if isinstance(named, (list, tuple)) else (str(named),) if named else ()


def host_and_port(url: str) -> str:
    """Return host and port of an address, without what may be a password or a key."""
    from urllib.parse import urlsplit

    try:
        return urlsplit(url if "://" in url else f"//{url}").netloc.rpartition("@")[2] or url
    except ValueError:
        return "an address that cannot be read"


def _getting(spec: WorkflowSpec) -> list[tuple[str, tuple[str, ...]]]:
    """Return who gets secrets by the file, each with every text in which a secret may be named."""
    return [
        *((f"the MCP server {one.id}", _texts([dict(one.env), dict(one.headers)])) for one in spec.tools.mcp),
        *((f"the executor {one.id}", _texts(dict(one.headers))) for one in spec.tools.http_executors),
        *((f"the tool {entry.as_ or entry.tool}", _texts(entry.config)) for _, entry in entries_of(spec)),
    ]


def _texts(value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        return (value, *SECRET_REFERENCE.findall(value))
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, (list, tuple)) else ()
    return tuple(text for item in items for text in _texts(item))


def _of_secret(secret: Secret, getting: list[tuple[str, tuple[str, ...]]]) -> Use:
    name, path = secret.name or secret.key, secret.path or ""
    to = tuple(dict.fromkeys(who for who, texts in getting if name in texts)) or None
    exact = canonical_json([secret.key, secret.source, path])
    place = "/".join(filter(None, (path, secret.key)))
    kinds: dict[str, tuple[Kind, str, bool]] = {
        "env": ("variable", secret.key, False),
        "file": ("file", path, is_outside(path)),
        "command": ("program", path, True),
    }
    kind, what, asks = kinds.get(secret.source, ("store", f"{secret.source} {place}", False))
    return Use(kind, what, f"the secret {name}", to, asks, exact)


def _of_mount(name: str, path: str) -> Use:
    return Use("folder", path, f"the mount {name}", asks=is_outside(path), exact=path)


def _of_server(server: McpServer) -> Use:
    by, exact = f"the MCP server {server.id}", canonical_json([dict(server.env), dict(server.headers)])
    if server.url is not None:
        return _reached(server.url, by, exact)
    variables = f" (with the variables {', '.join(server.env)})" if server.env else ""
    return Use("program", reached_by(server) + variables, by, asks=True, exact=exact)


def _of_executor(executor: HttpExecutor) -> Use:
    return _reached(executor.base_url, f"the executor {executor.id}", canonical_json(dict(executor.headers)))


def _of_config(entry: ToolEntry) -> Iterator[Use]:
    by, config, exact = f"the tool {entry.as_ or entry.tool}", entry.config, canonical_json(entry.config)
    if networks := opened_networks(config):
        yield Use("network", ", ".join(networks), by, asks=True, exact=exact)
    if isinstance(proxy := config.get("proxy"), str):
        yield _reached(proxy, f"the proxy of {by}", exact)
    if isinstance(file := config.get("ca_file"), str):
        yield Use("file", file, by, exact=exact)


def _of_runtime(spec: WorkflowSpec) -> Iterator[Use]:
    runtime, otel = spec.runtime, spec.telemetry.otel
    if runtime.recording is not None and is_outside(runtime.recording):
        yield Use("file", runtime.recording, "the recording")
    if runtime.host is not None and runtime.provider != "replay":
        yield Use("address", host_and_port(runtime.host), f"the models of {runtime.provider}, with their key")
    if otel is not None and otel.endpoint not in (None, "console"):
        yield Use("address", host_and_port(str(otel.endpoint)), "the traces", exact=str(otel.endpoint))


def _reached(url: str, by: str, exact: str) -> Use:
    """Return the use of an address: that of a private network is one that a person is asked about."""
    from strands_cli.providers import is_local

    near = is_local(url)
    return Use("network" if near else "address", host_and_port(url), by, asks=near, exact=canonical_json([url, exact]))
