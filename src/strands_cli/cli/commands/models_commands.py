"""The commands `models` and `keys`: the model that is taken by default, short names, and the keys of providers."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from strands_cli.cli.commands.command_options import JSON
from strands_cli.cli.commands.plugin_commands import OpenGroup, group
from strands_cli.cli.output.messages import say
from strands_cli.cli.output.results import print_json, print_result
from strands_cli.cli.terminal_text import one_line, table
from strands_cli.errors import UsageError, suggest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from strands_cli.provider_table import Provider
    from strands_cli.user_files.model_names import ModelNames

_MODEL = typer.Argument(metavar="MODEL", help="PROVIDER/MODEL, such as openai/gpt-4.1-mini, or an alias.")
_REMOVE = typer.Option("--remove", help="Remove it.")
_REACH_SECONDS = 3.0
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*")


def models(context: typer.Context) -> None:
    """Choose the model that is taken by default, name models, and see which can be used here."""
    if context.invoked_subcommand is None:
        list_models()


def list_models(
    reach: Annotated[bool, typer.Option("--reach", help="Open a connection to each; nothing else is sent.")] = False,
    as_json: JSON = False,
) -> None:
    """List the default model, the aliases, and the providers: whether the client and a key are here.

    Example: strands models list --reach
    """
    from strands_cli.user_files.model_names import read_model_names
    from strands_cli.user_files.stored_keys import stored_keys

    names, keys = read_model_names(), stored_keys()
    providers = [_described(provider, keys, reach=reach) for provider in _providers()]
    if as_json:
        print_json({"default": names.default or None, "aliases": dict(names.aliases), "providers": providers})
        return
    print_result(f"default  {names.default or 'none: strands models default PROVIDER/MODEL'}")
    for alias, target in names.aliases.items():
        print_result(one_line(f"alias    {alias} = {target}"))
    head = ("provider", "client", "key", *(("reachable",) if reach else ()), "")
    rows = [(*_cells(provider, reach=reach), str(provider["fix"] or "")) for provider in providers]
    print_result("\n".join(["", *table([head, *rows])]))


def _cells(provider: dict[str, Any], *, reach: bool) -> tuple[str, ...]:
    client = "installed" if provider["installed"] else "missing"
    reachable = {True: "yes", False: "no", None: "-"}[provider["reachable"]]
    return (provider["name"], client, provider["key"], *((reachable,) if reach else ()))


def _providers() -> list[Provider]:
    from strands_cli.parts.named_providers import provider_by_name, provider_names

    rows = [provider_by_name(name) for name in provider_names()]
    return [row for row in rows if row is not None and row.name != "replay"]


def _described(provider: Provider, keys: Collection[str], *, reach: bool) -> dict[str, Any]:
    from strands_cli.planning.provider_checks import check_extra

    missing = list(check_extra(provider)) if provider.make is not None else []
    key, fix = _key_of(provider, keys)
    return {
        "name": provider.name,
        "title": provider.title,
        "distribution": provider.distribution,
        "installed": not missing,
        "key": key,
        "reachable": _reachable(provider) if reach and not missing else None,
        "fix": missing[0].fix if missing else fix,
    }


def _key_of(provider: Provider, keys: Collection[str]) -> tuple[str, str | None]:
    """Return the place of a provider's key, and the command that stores one where it has none."""
    if provider.aws:
        return "of AWS", None
    if not provider.keys:
        return ("not needed" if provider.name != "litellm" else "of its service"), None
    if any(os.environ.get(name, "").strip() for name in provider.keys):
        return "environment", None
    if any(name in keys for name in provider.keys):
        return "stored", None
    return "none", f"strands keys set {provider.name}"


def _reachable(provider: Provider) -> bool | None:
    """Return whether a connection to the provider's server can be opened; None without a known address."""
    import socket
    from urllib.parse import urlsplit

    from strands_cli.providers import ModelSettings, host_of

    address = host_of(provider, ModelSettings(provider.name), os.environ) or provider.default_host
    if address is None:
        return None
    parts = urlsplit(address if "//" in address else f"//{address}")
    try:
        port = parts.port or (80 if parts.scheme == "http" else 443)
        with socket.create_connection((parts.hostname or "", port), timeout=_REACH_SECONDS):
            return True
    except (OSError, ValueError):
        return False


def default_model(
    model: Annotated[str | None, _MODEL] = None,
    remove: Annotated[bool, _REMOVE] = False,
    as_json: JSON = False,
) -> None:
    """Show or choose the model of workflows and questions that name none.

    Example: strands models default openai/gpt-4.1-mini
    """
    from strands_cli.user_files.model_names import held_model_names, read_model_names, write_model_names

    if model is not None and remove:
        raise UsageError("--remove takes no model", fix="strands models default --remove")
    if model is not None or remove:
        with held_model_names() as names:
            names = names._replace(default=model or "")
            if model is not None:
                _require_provider(names.resolve(model).provider, names.aliases)
            write_model_names(names)
    names = read_model_names()
    resolved = str(names.resolve(names.default)) if names.default else None
    if as_json:
        print_json({"default": names.default or None, "model": resolved})
    elif resolved is None:
        say("there is no default model: strands models default PROVIDER/MODEL")
    else:
        print_result(one_line(resolved if resolved == names.default else f"{resolved}  ({names.default})"))


def alias(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The short name.")],
    model: Annotated[str | None, _MODEL] = None,
    remove: Annotated[bool, _REMOVE] = False,
    as_json: JSON = False,
) -> None:
    """Give a model a short name, or remove one.

    Example: strands models alias fast openai/gpt-4.1-mini
    """
    from strands_cli.user_files.model_names import held_model_names, write_model_names

    if (model is None) != remove:
        raise UsageError("an alias needs a model", fix=f"strands models alias {name} PROVIDER/MODEL, or --remove")
    with held_model_names() as names:
        names = _with_alias(names, name, model)
        write_model_names(names)
    if as_json:
        print_json({"alias": name, "model": None if remove else str(names.resolve(name))})
    else:
        say(one_line(f"removed {name}" if remove else f"{name} is {names.resolve(name)}"))


def _with_alias(names: ModelNames, name: str, model: str | None) -> ModelNames:
    """Return the names with an alias, or without it where it gets no model.

    Raises:
        UsageError: It is not a name, is not there, is the default, or leads to itself or to no provider.
    """
    aliases = dict(names.aliases)
    if model is None:
        if name not in aliases:
            raise UsageError(f"there is no alias '{name}'", fix=suggest(name, aliases, "see: strands models list"))
        if name == names.default:
            raise UsageError(f"'{name}' is the default model", fix="choose another one first: strands models default")
        del aliases[name]
        return names._replace(aliases=aliases)
    if "/" in name or not name.strip() or len(name.split()) != 1:
        raise UsageError(f"'{name}' is not a name: it has no slash and no space", fix="such as: fast")
    names = names._replace(aliases={**aliases, name: model})
    _require_provider(names.resolve(name).provider, names.aliases)
    return names


def _require_provider(name: str, aliases: Iterable[str]) -> None:
    """Check that there is a provider of this name.

    Raises:
        UsageError: There is none.
    """
    from strands_cli.parts.named_providers import provider_names
    from strands_cli.planning.provider_checks import unknown_provider

    known = provider_names()
    if name not in known:
        finding = unknown_provider(name, [*known, *aliases], lambda _field: None)
        raise UsageError(finding.message, fix=finding.fix)


def set_key(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider, or the name of its variable.")],
    value: Annotated[
        str | None, typer.Argument(hidden=True, help="Refused: a key is typed when it is asked for.")
    ] = None,
    in_file: Annotated[bool, typer.Option("--file", help="Use the file, also where there is a keyring.")] = False,
    as_json: JSON = False,
) -> None:
    """Store a key: in the keyring if the package keyring and one are here, else in a file that only you can read.

    The key is typed when it is asked for, or comes from standard input.

    Example: strands keys set openai
    """
    from strands_cli.providers import fault_of_key
    from strands_cli.user_files.stored_keys import store_key, stored_keys

    variable = _variable_of(provider)
    if value is not None:
        fix = f"make a new one, and type it when asked: strands keys set {provider}"
        raise UsageError("a key on the command line stays in the history of the shell; it is not stored", fix=fix)
    stored_keys()  # before a person types a key in vain
    key = _typed_key(variable)
    if (fault := fault_of_key(key)) is not None:
        raise UsageError(f"that is not a key: it has {fault}", fix="give it as the provider showed it")
    where, left = store_key(variable, key, in_file=in_file)
    if as_json:
        print_json({"variable": variable, "place": where})
    else:
        say(one_line(f"stored {variable} in {where}"))
    if left is not None:
        say(one_line(f"warning: an earlier {variable} stays in the keyring: {left}"))
    if os.environ.get(variable, "").strip():
        say(f"warning: {variable} is set in the environment, and beats it")


def _typed_key(variable: str) -> str:
    if not sys.stdin.isatty():
        return sys.stdin.read().strip()
    import getpass

    return getpass.getpass(f"{variable} (not shown): ").strip()


def list_keys(as_json: JSON = False) -> None:
    """List the stored keys, not their values: the variable, its place, and whether the environment beats it.

    Example: strands keys list --json
    """
    from strands_cli.user_files.stored_keys import stored_keys

    rows: list[dict[str, Any]] = [
        {
            "variable": variable,
            "providers": [provider.name for provider in _providers() if variable in provider.keys],
            "place": "keyring" if isinstance(key, bool) else "file",
            "in_environment": bool(os.environ.get(variable, "").strip()),
        }
        for variable, key in stored_keys().items()
    ]
    if as_json:
        print_json({"keys": rows})
    elif not rows:
        say("no key is stored: strands keys set PROVIDER")
    else:
        beaten = {True: "the environment has another that beats it", False: ""}
        lines = [
            (row["variable"], row["place"], ", ".join(row["providers"]), beaten[row["in_environment"]]) for row in rows
        ]
        print_result("\n".join(table([("variable", "place", "providers", ""), *lines])))


def remove_key(
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="A provider, or the name of its variable.")],
    as_json: JSON = False,
) -> None:
    """Remove a stored key.

    Example: strands keys remove openai
    """
    from strands_cli.user_files.stored_keys import remove_stored_key

    variable = _variable_of(provider)
    remove_stored_key(variable)
    if as_json:
        print_json({"variable": variable, "removed": True})
    else:
        say(f"removed {variable}")


def _variable_of(name: str) -> str:
    """Return the variable that holds the key of a provider; a name in capitals is one.

    Raises:
        UsageError: There is no such provider, or it has no key.
    """
    from strands_cli.provider_table import known_provider

    if _VARIABLE.fullmatch(name):
        return name
    _require_provider(name, ())
    provider = known_provider(name)
    if provider is None or not provider.keys:
        raise UsageError(
            f"provider '{name}' has no key of its own", fix="name the variable: strands keys set NAME_API_KEY"
        )
    return provider.keys[0]


models_app = group(
    "Choose the model that is taken by default, name models, see which can be used here, and store their keys.\n\n"
    "`strands keys set` is `strands models keys set`.\n\nExample: strands models default openai/gpt-4.1-mini",
    {"list": list_models, "default": default_model, "alias": alias},
    cls=OpenGroup,
    no_args_is_help=False,
    invoke_without_command=True,
    callback=models,
)
keys_app = group(
    "Store the keys of model providers for this user; a variable of the environment beats them.\n\n"
    "Example: strands keys set openai",
    {"set": set_key, "list": list_keys, "remove": remove_key},
)
