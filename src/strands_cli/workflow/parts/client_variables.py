"""Variables in files of MCP servers of other clients: the meaning of each in a workflow."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from strands_cli.quick_dataclass import dataclass
from strands_cli.texts.canonical_json import json_object

# Values in another client's file that look like secrets, taken out of the sections made from it.


_NAME = re.compile(r"key|token|secret|passw|credential|auth|cookie", re.IGNORECASE)
# How the keys of well-known services begin, and the words that may be before a key in a header.
_VALUE = re.compile(
    r"(?:[sprk]k|xox[a-z]|glpat|hf|npm|pypi)[-_][\w-]{8,}|gh[a-z]_\w{8,}|github_pat_|AKIA\w{8}|AIza|eyJ\w{8,}"
)
_SCHEME = re.compile(r"(?:Bearer|Basic|Token|Bot)\s+", re.IGNORECASE)
_PLAIN = ("", "true", "false", "none", "0", "1")
_OPTION = re.compile(r"(--?[\w-]+)=(.+)", re.DOTALL)
_QUERY = re.compile(r"(?<=[?&])([^=&]+)=([^&]+)")

# Takes a name for a value and the value; returns the replacement.
_Store = Callable[[str, str], str]


def without_literal_secrets(sections: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, str]]:
    """Return sections with secrets in place of values that look like them, and the place of each, by its name."""
    values: dict[str, str] = {}
    places: dict[str, str] = {}
    servers = []
    for server in sections["tools"]["mcp"]:

        def store(name: str, value: str, of: str = server["id"]) -> str:
            plain = re.sub(r"\W+", "_", name).strip("_").upper()
            if values.get(plain, value) != value:
                plain = re.sub(r"\W+", "_", f"{of}_{plain}").upper()
            values[plain] = value
            places.setdefault(plain, f"'{name}' of the server '{of}'")
            return f"${{secrets.{plain}}}"

        servers.append(_of_server(server, store))
    named = [*sections.get("env", {}).get("secrets", ())]
    named += [{"key": name} for name in values if {"key": name} not in named]
    return {"tools": {"mcp": servers}, **({"env": {"secrets": named}} if named else {})}, places


def _of_server(server: Mapping[str, Any], store: _Store) -> dict[str, Any]:
    fields = dict(server)
    for part in ("env", "headers"):
        if isinstance(texts := server.get(part), Mapping):
            fields[part] = {name: _hidden(str(name), text, store) for name, text in texts.items()}
    if isinstance(arguments := server.get("args"), list):
        fields["args"] = [_argument(arguments, index, store) for index in range(len(arguments))]
    if isinstance(url := server.get("url"), str):
        fields["url"] = _QUERY.sub(lambda match: f"{match[1]}={_hidden(match[1], match[2], store)}", url)
    return fields


def _argument(arguments: list[Any], index: int, store: _Store) -> Any:
    """Return an argument: `--token=value`, or the value after `--token`, or one that looks like a key by itself."""
    text, before = arguments[index], arguments[index - 1] if index else ""
    if isinstance(text, str) and (option := _OPTION.fullmatch(text)):
        return f"{option[1]}={_hidden(option[1], option[2], store)}"
    is_value = isinstance(before, str) and before.startswith("-") and "=" not in before
    return _hidden(before if is_value and not str(text).startswith("-") else "argument", text, store)


def _hidden(name: str, text: Any, store: _Store) -> Any:
    if not isinstance(text, str) or "${" in text or text.lower() in _PLAIN:
        return text
    if not (_NAME.search(name) or _VALUE.search(text) or _SCHEME.match(text)):
        return text
    scheme = _SCHEME.match(text)
    start = scheme[0] if scheme else ""
    return start + store(name, text[len(start) :])


# `${NAME}`, `${env:NAME}`, `${input:id}`, each perhaps with `:-default`, and `$NAME`, as Gemini CLI and shells have it.
_VARIABLE = re.compile(
    r"\$\{(?P<kind>env|input|config|command|secrets):(?P<of>[^{}:]*)(?::?-(?P<or>[^{}]*))?\}"
    r"|\$\{(?P<name>[^{}:]+?)(?::?[-=](?P<default>[^{}]*)|:?\?[^{}]*)?\}"
    r"|(?<![\w$\\])\$(?P<plain>[A-Z][A-Z0-9_]+)\b"
)
# A default with a variable in it, and a variable as opencode writes it.
_NESTED = re.compile(r"\$\{(?P<name>\w+):?[-=](?P<default>[^{}]*\$\{[^{}]*\}[^{}]*)\}")
# Variables in the words of other clients and of Windows, with their form in the words above.
_OTHERWISE = (
    (re.compile(r"(?<!\$)\{env:([^{}]+)\}"), r"${env:\1}"),
    (re.compile(r"%([A-Z_][A-Z0-9_]*)%"), r"${\1}"),
    (re.compile(r"\$\{(env|secrets)\.(\w+)\}"), r"${\1:\2}"),
    (re.compile(r"\$\{(workspaceFolder(?:Basename)?):[^{}]*\}"), r"${\1}"),
)
_HYPHENS = re.compile(r"\$\{[a-z]\w*(?:-\w+)+\}")
# Variables that no pattern above reads: `${NAME:+text}`, `${NAME%.*}`.
_UNREAD = re.compile(r"\$\{(?!secrets\.)[^{}]*\}")
# The folder in which the person works, in the words of the clients; a server runs in the folder of the workflow.
_FOLDERS = frozenset(
    {"workspaceFolder", "workspaceRoot", "cwd", "PWD", "CLAUDE_PROJECT_DIR", "CLAUDE_PLUGIN_ROOT", "__dirname"}
    | {"projectRoot", "PROJECT_ROOT", "workspace_root", "ZED_WORKTREE_ROOT", "fileWorkspaceFolder"}
)
_HOMES = frozenset({"userHome", "HOME", "USERPROFILE", "homedir"})
_SEPARATORS = frozenset({"pathSeparator", "/"})
_IS_SECRET = re.compile(r"key|token|secret|passw|credential|auth|cookie|\bpat\b", re.IGNORECASE)
# Variables of the machine without secrets: they are filled in where they are set, as in a command line.
_OF_MACHINE = re.compile(
    r"[A-Z_]*PATH|LC_\w+|XDG_\w+|LANG|LANGUAGE|USER|USERNAME|LOGNAME|SHELL|TERM|TMP|TEMP|TMPDIR|TZ|HOSTNAME|DISPLAY|VIRTUAL_ENV"
    r"|CONDA_PREFIX|(LOCAL)?APPDATA|PROGRAM(FILES|DATA)|SYSTEM(ROOT|DRIVE)|WINDIR|COMSPEC|HOMEDRIVE|NODE_ENV"
)
_SHELLS = frozenset({"sh", "bash", "zsh", "dash"})


@dataclass(slots=True)
class Variables:
    """The variables of one file, with the secrets, notes and steps that they cause.

    Attributes:
        folder: The folder of the file.
        environ: The variables of this process: one in a command line or an address is filled in at the import.
        questions: The `inputs` of VS Code by their ids.
        secrets: The names of secrets that the sections need.
        notes: Notes for a person.
        to_do: Steps for a person before the sections are valid.
    """

    folder: Path
    environ: Mapping[str, str]
    questions: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    secrets: dict[str, None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    to_do: list[str] = field(default_factory=list)

    def in_secret_place(self, text: str, where: str) -> str | None:
        """Return a text of `env` or `headers`, where a variable is a secret; None where it is optional and absent."""
        text = self._with_machine(self._flat(text, where), where)
        if not text:
            return None
        match = _VARIABLE.fullmatch(text)
        if match is not None and _default(match) == "" and _well_known(match, self.folder) is None:
            self.notes.append(f"{where} is optional and left out; to give it, write ${{secrets.{_name(match)}}}")
            return None

        def fill(match: re.Match[str]) -> str:
            if (known_value := _well_known(match, self.folder)) is not None:
                return known_value
            default = self._default_of(match)
            if default:
                self.notes.append(f"{where} is {default!r}, the default of the file; {match[0]} is not read")
                return default
            if match["kind"] in ("config", "command") or not _is_name(match):
                self.to_do.append(f"{where} has {match[0]}, which only the other client knows: write its value")
                return match[0].replace("$", "")
            self.secrets.setdefault(_name(match))
            return f"${{secrets.{_name(match)}}}"

        return self._without_unread(_VARIABLE.sub(fill, text), where)

    def in_open_place(self, text: str, where: str) -> str:
        """Return a text of a command line or an address, where others can read the values filled in."""

        def fill(match: re.Match[str]) -> str:
            if (known_value := _well_known(match, self.folder)) is not None:
                return known_value
            if match["plain"] and not match["name"]:
                return match[0]
            name, default = _name(match), self._default_of(match)
            if match["kind"] not in ("config", "command") and _is_name(match):
                value = self.environ.get(name) if match["kind"] != "input" and not _IS_SECRET.search(name) else None
                if (value := value or default) is not None:
                    self.notes.append(f"{where} has {value!r} for {match[0]}")
                    return value
                if _IS_SECRET.search(name):
                    self.secrets.setdefault(name)
                    return f"${{secrets.{name}}}"
            self.to_do.append(f"{where} has {match[0]}: write its value there" + _or_export(match, name))
            return match[0].replace("$", "")

        return self._without_unread(_VARIABLE.sub(fill, self._flat(text, where, self.environ)), where)

    def for_shell(self, text: str, env: dict[str, str]) -> str:
        """Return a script of a shell, which gets its variables from its environment; `env` gets their secrets."""

        def fill(match: re.Match[str]) -> str:
            known_value = _well_known(match, self.folder)
            if known_value is not None or not _is_name(match) or match["kind"] not in (None, "env", "input"):
                return known_value if known_value is not None else match[0]
            name = _name(match)
            if _default(match) is None:
                self.secrets.setdefault(name)
                env.setdefault(name, f"${{secrets.{name}}}")
                return f"${name}"
            return match[0]

        return _VARIABLE.sub(fill, text)

    def _flat(self, text: str, where: str, environ: Mapping[str, str] | None = None) -> str:
        """Return a text in which no default has a variable; one whose name is that of a secret is not filled in."""

        def fill(match: re.Match[str]) -> str:
            value = (environ or {}).get(match["name"]) if not _IS_SECRET.search(match["name"]) else None
            self.notes.append(f"{where} has {value or match['default']!r} for {match[0]}")
            return value or match["default"]

        for pattern, usual in _OTHERWISE:
            text = pattern.sub(usual, text)
        text = _HYPHENS.sub(lambda match: match[0].replace("-", "_"), text)
        while (flat := _NESTED.sub(fill, text)) != text:
            text = flat
        return text

    def _with_machine(self, text: str, where: str) -> str:
        """Return a text in which variables of the machine have their values; without a value it is left out."""

        def fill(match: re.Match[str]) -> str:
            name = _name(match)
            if match["kind"] not in (None, "env") or not _OF_MACHINE.fullmatch(name) or _is_folder_or_home(match):
                return match[0]
            value = self.environ.get(name) or _default(match) or ""
            if not value and text != match[0] and not name.endswith("PATH"):
                self.to_do.append(f"{where} has {match[0]}: write its value there" + _or_export(match, name))
                return match[0].replace("$", "")
            remark = f"has {value!r}" if value or text != match[0] else "is left out: it has no value here"
            self.notes.append(f"{where} {remark} for {match[0]}")
            return value

        return _VARIABLE.sub(fill, text) if text else text

    def _without_unread(self, text: str, where: str) -> str:
        def note(match: re.Match[str]) -> str:
            self.to_do.append(f"{where} has {match[0]}, which is not read here: write its value")
            return match[0].replace("$", "")

        return _UNREAD.sub(note, text)

    def _default_of(self, match: re.Match[str]) -> str | None:
        """Return the default that a variable has where it is, or that its input has."""
        if (default := _default(match)) is not None or match["kind"] != "input":
            return default
        question = self.questions.get(match["of"], {})
        default = question.get("default")
        return str(default) if default not in (None, "") and question.get("password") is not True else None


def asked_in(inputs: Any) -> dict[str, Mapping[str, Any]]:
    """Return the questions of VS Code to a person, by id."""
    listed = inputs if isinstance(inputs, list) else []
    return {str(question.get("id")): question for question in map(json_object, listed) if question}


def is_script(command: Any, arguments: list[Any]) -> bool:
    """Return whether a shell runs the word after `-c`."""
    return Path(str(command)).name in _SHELLS and "-c" in arguments[:2]


def mapped_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Return a value whose texts are changed; numbers and booleans become the texts that JSON has for them."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, list):
        return [mapped_texts(item, change) for item in value if item is not None]
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _default(match: re.Match[str]) -> str | None:
    return match["or"] if match["kind"] else match["default"]


def _name(match: re.Match[str]) -> str:
    return re.sub(r"\W+", "_", match["of"] or match["name"] or match["plain"] or "")


def _is_name(match: re.Match[str]) -> bool:
    """Return whether it can be the name of a variable of the environment, and none of an editor: `fileBasename`."""
    name = match["of"] or match["name"] or match["plain"] or ""
    return (
        bool(match["kind"]) or re.fullmatch(r"(?!file|relativeFile|selectedText|lineNumber)[\w.-]+", name) is not None
    )


def _well_known(match: re.Match[str], folder: Path) -> str | None:
    """Return the text of a variable that each client has, or None."""
    name = match["name"] or match["plain"] or (match["of"] if match["kind"] == "env" else "") or ""
    if name in _FOLDERS:
        return "."
    if name in _HOMES:
        return str(Path.home())
    if name == "workspaceFolderBasename":
        return (folder.parent if folder.name in (".vscode", ".cursor") else folder).absolute().name
    return "/" if name in _SEPARATORS else None


def _is_folder_or_home(match: re.Match[str]) -> bool:
    return _name(match) in (*_FOLDERS, *_HOMES)


def _or_export(match: re.Match[str], name: str) -> str:
    return f", or export {name}=VALUE before the import" if match["kind"] in (None, "env") and _is_name(match) else ""
