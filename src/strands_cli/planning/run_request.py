"""A person's choices about a run: the one definition of the options, for help, storage and the Python API."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import MISSING, field, fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.config import REFERENCES, Settings, read_settings
from strands_cli.errors import UsageError
from strands_cli.outputs.output_folder import DEFAULT_OUT
from strands_cli.quick_dataclass import dataclass
from strands_cli.store_place import (
    SOURCES,
    StorePlace,
    has_wrong_reference,
    is_address,
    other_sources,
    without_password,
)

if TYPE_CHECKING:
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.user_files.user_config import ConfigPart


# Where the runs of a person are stored: an option, a variable, the user's config file, or the default directory.


_FORM = "write `store: postgresql://USER@HOST/DATABASE`, or a mapping with `address` and `password`"


def store_place_of(settings: Settings) -> StorePlace:
    """Return where runs are stored; the config file is only read where neither an option nor a variable chooses.

    Raises:
        InvalidInput: The user's config file is not valid.
        UsageError: The address refers to a source of secrets without its distribution.
    """
    if not settings.is_chosen and (address := _configured(settings.user_config)):
        return _place_at(address)
    return _place_at(settings.store) if settings.store else StorePlace(settings.runs_dir)


def _place_at(address: str) -> StorePlace:
    if not _has_known_sources(address):
        # Not which word: it may be the beginning of a password.
        raise UsageError("the braces in the address of the store do not refer to a secret", fix=_references())
    return StorePlace(address=address, sources=other_sources(address))


def _has_known_sources(address: str) -> bool:
    """Return whether a program's or an installed distribution's source is before each colon in braces."""
    sources = other_sources(address)
    return not sources or set(sources) <= set(_installed_sources())


def _installed_sources() -> list[str]:
    from strands_cli.default_parts import DEFAULTS, SECRETS
    from strands_cli.parts.named_parts import names_in

    return [name for name in names_in(SECRETS) if name not in DEFAULTS[SECRETS]]


def _references() -> str:
    also = ", ".join(f"{{{name}:PATH#KEY}}" for name in _installed_sources())
    return f"{REFERENCES}; installed too: {also}" if also else REFERENCES


def chosen_place(runs_dir: Path | None = None, store: str | None = None) -> StorePlace:
    """Return where the runs are that options name; without any, where they are stored by default.

    Raises:
        UsageError: Both are given, or the store is not an address.
        InvalidInput: The user's config file is not valid.
    """
    return store_place_of(read_settings(runs_dir=runs_dir, store=store))


def _configured(config: Path | None) -> str:
    """Return the address that a config file has; empty without one."""
    if config is None or not os.path.lexists(config):
        return ""
    from strands_cli.user_files.user_config import ConfigPart  # YAML: most have no such file

    part = ConfigPart.read("store", "stores", config)
    if part is None:
        return ""
    address = _address_in(part)
    part.require_valid()
    return address


def _name_of(value: Mapping[str, Any], source: str) -> Any:
    """Return the text after the source of a password: one word, or `PATH#KEY` for that of a distribution."""
    if source in SOURCES:
        return value.get(SOURCES[source], "")
    path, key = value.get("path", ""), value.get("key", "")
    return f"{path}#{key}" if isinstance(path, str) and isinstance(key, str) and path and key else path


def _address_in(part: ConfigPart) -> str:
    """Return the address of a store with the reference to its password in it; report faults of it."""
    if part.value is None:
        return ""
    whole = part.value if isinstance(part.value, Mapping) else {"address": part.value}
    part.check_keys("/store", dict(whole), ("address", "password"), "a store")
    text = whole.get("address")
    if not isinstance(text, str) or not is_address(text):
        part.report("/store", "`store` is the address of a store", _FORM)
        return ""
    if has_wrong_reference(text) or not _has_known_sources(text):
        part.report("/store", "the braces in `store` do not refer to a secret", _references())
    return _with_password(part, text, whole["password"]) if "password" in whole else text


def _with_password(part: ConfigPart, address: str, value: Any) -> str:
    source = value.get("source", "env") if isinstance(value, dict) else None
    name = _name_of(value, str(source)) if isinstance(value, dict) else ""
    if not isinstance(name, str) or not name.strip() or set(name) & set("{}"):
        example = "`{source: env, key: PGPASSWORD}` or `{source: file, path: /run/secrets/postgres}`"
        part.report("/store/password", f"`password` is a reference to a secret, such as {example}")
        return address
    scheme, _, rest = without_password(address).partition("://")
    user, at, host = rest.partition("@")
    if not at:
        part.report("/store/address", "an address with a password names its user: postgresql://USER@HOST/...")
    return f"{scheme}://{user}:{{{source}:{name}}}@{host}" if at else address


def log_line(line: str) -> None:
    """Log a line, for programs that name no other place for lines."""
    import logging

    logging.getLogger("strands_cli").warning(line)


@dataclass(frozen=True, slots=True)
class Option:
    """How one field of `RunRequest` appears outside.

    Attributes:
        flags: The words of the command line; empty where a program alone can choose.
        help: The help text.
        metavar: The help's word for the value.
        heading: The help's heading above it.
        is_stored: Whether the run's journal stores it, so that a resume has it again.
        again: Whether commands that continue a stored run have it too, so that it can change.
        help_again: Their help text, where it differs.
        least: The smallest number that it takes.
        in_python: Whether the Python API has it: `strands_cli.api.RunChoices` derives from these.
    """

    flags: tuple[str, ...] = ()
    help: str = ""
    metavar: str | None = None
    heading: str | None = None
    is_stored: bool = False
    again: bool = False
    help_again: str | None = None
    least: int | None = None
    in_python: bool = True


INPUTS, MODEL, PERMISSIONS, FILES, HOOKS = "Inputs", "Model", "Permissions", "Files", "Hook plugins"


_VAR_HELP = "Give an input; may be repeated. NAME=@FILE: the text of a file; NAME=-: of stdin; @@: an at sign."


def option(default: Any, *flags: str, help: str, **more: Any) -> Any:  # noqa: A002 - the word of every command line
    """Return a dataclass field with its option."""
    metadata = {"option": Option(flags, help, **more)}
    if isinstance(default, dict):
        return field(default_factory=dict, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass(frozen=True, slots=True)
class RunRequest:
    """The choices about a run outside the workflow file; `yes` and `deny` exclude each other.

    Attributes:
        variables: Inputs as text, coerced to their declared types.
        values: Inputs with types, from files and programs.
        out_dir: The directory of artifacts.
        force: Whether existing files are overwritten.
        provider: The model provider of all agents.
        model: The model of all agents.
        host: The base URL of the server of all models.
        max_tokens: The maximum length of an answer of all models.
        max_cost: The most money that the run may spend, in US dollars; a smaller `max_cost_usd` of the workflow stays.
        allow: Names or globs of tools that need no approval.
        yes: Whether every call that would ask is allowed.
        deny: Whether every call that would ask is denied, and the run continues without it.
        fail_on_denied: Whether any denied call fails the run.
        detach: Whether questions wait instead of prompting.
        record: The file that gets the model's turns as a recording.
        runs_dir: The directory of journals.
        store: The address of a store that has the journals instead.
        policy: A policy file that takes the place of the project's.
        locked: Whether a lock is required.
        no_plugins: Whether hook plugins of the user's policy file are left out.
        trace_hooks: Whether each call of a hook is reported through `tell`.
        tools: Descriptions of Python objects that a program adds as tools of the workflow.
        python_tools: These objects, as `read_object_tools` reads them; None if no program runs the plan.
        hooks: Distributions of further hook plugins.
        context: Values of a program for the tools of the run; they are not stored.
        beside: The directory that relative paths start from: the working directory before any tool could change it.
        as_written: Whether templates stay unrendered, to look at an unreviewed workflow.
        tell: Takes a line for the person, from any thread.
    """

    variables: Mapping[str, str] = option(
        {}, "--var", heading=INPUTS, help=_VAR_HELP, metavar="NAME=VALUE", in_python=False
    )
    values: Mapping[str, Any] = option(
        {},
        "--vars-file",
        heading=INPUTS,
        help="Inputs from a YAML or JSON file; `-`: stdin.",
        metavar="FILE",
        in_python=False,
    )
    out_dir: Path = option(
        DEFAULT_OUT,
        "--out",
        heading=FILES,
        help="Where artifacts go.",
        metavar="DIR",
        is_stored=True,
        help_again="Where artifacts go, if not where they went.",
        again=True,
    )
    force: bool = option(
        False,
        "--force",
        heading=FILES,
        help="Overwrite artifacts and recordings that exist.",
        is_stored=True,
        again=True,
    )
    provider: str | None = option(
        None,
        "--provider",
        heading=MODEL,
        help="Model provider for all agents, e.g. openai.",
        metavar="NAME",
        is_stored=True,
    )
    model: str | None = option(
        None, "--model", heading=MODEL, help="Model for all agents.", metavar="NAME", is_stored=True
    )
    host: str | None = option(
        None,
        "--host",
        heading=MODEL,
        help="Address of the model's server.",
        metavar="URL",
        is_stored=True,
    )
    max_tokens: int | None = option(
        None,
        "--max-tokens",
        heading=MODEL,
        help="Most tokens of an answer, for all agents.",
        metavar="N",
        least=1,
        is_stored=True,
    )
    max_cost: float | None = option(
        None,
        "--max-cost",
        heading=MODEL,
        help="Most US dollars of a run, e.g. 0.50; exit code 20.",
        metavar="USD",
        is_stored=True,
    )
    allow: tuple[str, ...] = option(
        (),
        "--allow",
        heading=PERMISSIONS,
        help="Allow a tool without asking (name, glob).",
        metavar="TOOL",
        is_stored=True,
        again=True,
    )
    yes: bool = option(
        False,
        "--yes",
        "-y",
        heading=PERMISSIONS,
        help="Allow every tool call that would ask.",
        is_stored=True,
        again=True,
    )
    deny: bool = option(
        False,
        "--deny",
        heading=PERMISSIONS,
        help="Deny every tool call that would ask; the run continues without it.",
        is_stored=True,
        again=True,
    )
    fail_on_denied: bool = option(
        False,
        "--fail-on-denied",
        heading=PERMISSIONS,
        help="Fail with exit code 21 if any tool call was denied.",
        is_stored=True,
        again=True,
    )
    detach: bool = option(
        False,
        "--detach",
        heading=PERMISSIONS,
        help="Never prompt: questions wait, exit code 19.",
        is_stored=True,
        again=True,
        in_python=False,
    )
    record: Path | None = option(
        None,
        "--record",
        heading=FILES,
        help="Write the model's turns to a recording.",
        metavar="FILE",
        again=True,
    )
    runs_dir: Path | None = option(
        None,
        "--runs-dir",
        heading=FILES,
        help="Directory of the journals.",
        metavar="DIR",
        again=True,
    )
    store: str | None = option(
        None,
        "--store",
        heading=FILES,
        help="Store of the runs, in place of a directory: postgresql://...",
        metavar="ADDRESS",
        again=True,
    )
    policy: Path | None = option(
        None,
        "--policy",
        heading=PERMISSIONS,
        help="Policy file, in place of strands-policy.yaml.",
        metavar="FILE",
        is_stored=True,
        again=True,
    )
    locked: bool = option(
        False,
        "--locked",
        heading=PERMISSIONS,
        help="Refuse to run without a strands.lock that covers the tools.",
        is_stored=True,
        again=True,
    )
    no_plugins: bool = option(
        False,
        "--no-plugins",
        heading=HOOKS,
        help="Ignore the hook plugins of your own policy file.",
        again=True,
        in_python=False,
    )
    trace_hooks: bool = option(
        False,
        "--trace-hooks",
        heading=HOOKS,
        help="Print each call of a hook to stderr.",
        again=True,
        in_python=False,
    )
    tools: tuple[ToolRecord, ...] = ()
    python_tools: Any = field(default=None, repr=False)
    hooks: tuple[str, ...] = ()
    context: Mapping[str, Any] = field(default_factory=dict, repr=False)
    beside: Path = field(default_factory=Path.cwd)
    as_written: bool = False
    tell: Callable[[str], None] = log_line

    def changed(self, changes: Mapping[str, Any]) -> RunRequest:
        """Return the request with the choices made when its run continues; tools to allow are added to the earlier."""
        changes = dict(changes)
        if allow := changes.get("allow"):
            changes["allow"] = tuple(dict.fromkeys([*self.allow, *allow]))
        if changes.get("yes") or changes.get("deny"):
            changes = {"yes": False, "deny": False, **changes}
        return replace(self, **converted(changes))

    def __post_init__(self) -> None:
        if self.yes and self.deny:
            raise UsageError("--yes allows the calls that --deny denies", fix="omit one of them")
        if self.max_cost is not None and not 0 < self.max_cost < float("inf"):
            message = f"--max-cost {self.max_cost:g} is not an amount above 0"
            raise UsageError(message, fix="write US dollars: --max-cost 0.50")

    def to_stored(self) -> dict[str, Any]:
        """Return the fields that a journal stores, as JSON values."""
        values = {name: getattr(self, name) for name, run_option in options().items() if run_option.is_stored}
        if self.policy is not None:
            values["policy"] = self.policy.absolute()
        return {name: _as_json(value) for name, value in values.items()}

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any], values: Mapping[str, Any]) -> RunRequest:
        """Return the request of a stored run; its inputs come as the values that they were resolved to."""
        return cls(
            values=values,
            **converted({n: stored[n] for n, run_option in options().items() if run_option.is_stored and n in stored}),
        )


@cache
def options() -> dict[str, Option]:
    """Return the options with a flag, by the name of their field, in the order of the help."""
    return {
        request_field.name: request_field.metadata["option"]
        for request_field in fields(RunRequest)
        if "option" in request_field.metadata
    }


def converted(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Return choices in the types of their fields: paths from text, tuples from lists; None stays."""
    return {name: _as_field(name, value) for name, value in choices.items()}


def default_of(name: str) -> Any:
    """Return the default of a field."""
    option_field = next(option_field for option_field in fields(RunRequest) if option_field.name == name)
    return option_field.default_factory() if option_field.default_factory is not MISSING else option_field.default


def _as_json(value: Any) -> Any:
    return str(value) if isinstance(value, Path) else list(value) if isinstance(value, tuple) else value


def _as_field(name: str, value: Any) -> Any:
    kind = str(RunRequest.__annotations__[name])
    if value is None:
        return None
    if kind.startswith("Path"):
        return Path(value)
    return tuple(value) if kind.startswith("tuple") else value
