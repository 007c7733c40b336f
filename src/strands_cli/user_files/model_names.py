"""The user's default model and short names of models: `models.json` beside the policy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from strands_cli.errors import Finding, InvalidInput, UsageError, Where
from strands_cli.user_files.own_files import held, own_file, write_own_file
from strands_cli.user_files.user_config import BAD_CONFIG, VERSION, UserFileReader, open_safe_file, refused_file

FILE = "models.json"


class NamedModel(NamedTuple):
    """A provider and the provider's name of a model; None for the one that the provider takes by default."""

    provider: str
    model_id: str | None

    def __str__(self) -> str:
        return f"{self.provider}/{self.model_id}" if self.model_id else self.provider

    @classmethod
    def parse(cls, text: str) -> NamedModel:
        """Return the model in a text `PROVIDER/MODEL` or `PROVIDER`; the name of a model may have slashes.

        Raises:
            UsageError: The text has another form.
        """
        provider, slash, model_id = text.strip().partition("/")
        if not provider or (slash and not model_id) or len(text.split()) != 1:
            raise UsageError(f"'{text}' is not a model", fix="write PROVIDER/MODEL, such as openai/gpt-4.1-mini")
        return cls(provider, model_id or None)


class ModelNames(NamedTuple):
    """The default model, empty where none is chosen, and other names of models."""

    default: str = ""
    aliases: Mapping[str, str] = {}

    def resolve(self, name: str) -> NamedModel:
        """Return the model with a name: an alias, which may name another one, or PROVIDER/MODEL.

        Raises:
            UsageError: The alias leads to itself, or the name is neither.
        """
        way = [name]
        while (target := self.aliases.get(way[-1])) is not None:
            if target in way:
                raise UsageError(f"the alias '{name}' leads to itself: {' -> '.join([*way, target])}", fix=_AGAIN)
            way.append(target)
        return NamedModel.parse(way[-1])


_AGAIN = "strands models alias NAME PROVIDER/MODEL"


class _Reader(UserFileReader):
    def read(self) -> ModelNames:
        value = self._mapping(("version", "default", "aliases"), "a file of models", "`version: 1` and `default`")
        default, aliases = (value or {}).get("default", ""), (value or {}).get("aliases", {})
        if not isinstance(default, str):
            self.report("/default", "`default` is PROVIDER/MODEL or an alias")
        if not isinstance(aliases, dict) or not all(isinstance(one, str) for pair in aliases.items() for one in pair):
            self.report("/aliases", "`aliases` is a mapping of names to PROVIDER/MODEL")
        if self.findings:
            raise self.refusal()
        return ModelNames(default, aliases)

    def refusal(self) -> InvalidInput:
        return refused_file("file of models", Path(self._document.file), self.findings)


def read_model_names() -> ModelNames:
    """Return the user's names of models; without the file, for which this only looks, there are none.

    Raises:
        InvalidInput: It cannot be read, or others can change it.
    """
    document = open_safe_file(own_file(FILE), "file of models")
    return ModelNames() if document is None else _Reader(document, BAD_CONFIG, f"see: {_AGAIN} --help").read()


def default_model() -> str:
    """Return the default model as PROVIDER/MODEL; empty where none is chosen.

    Raises:
        InvalidInput: The file cannot be read, others can change it, or its default leads nowhere.
    """
    names = read_model_names()
    if not names.default:
        return ""
    try:
        return str(names.resolve(names.default))
    except UsageError as error:
        path = own_file(FILE) or Path(FILE)
        finding = Finding(BAD_CONFIG, error.message, Where(str(path)), error.fix)
        raise refused_file("file of models", path, [finding]) from error


def named_model(name: str) -> NamedModel:
    """Return the model with a name that a person has typed: PROVIDER/MODEL or an alias of the user's.

    Raises:
        UsageError: It has another form, or the alias leads to itself.
        InvalidInput: The file of models cannot be read, or others can change it.
    """
    return read_model_names().resolve(name)


@contextmanager
def held_model_names() -> Iterator[ModelNames]:
    """Return the names, which no other command changes until they are written."""
    with held(own_file(FILE)):
        yield read_model_names()


def write_model_names(names: ModelNames) -> None:
    """Write the file.

    Raises:
        UsageError: It cannot be written.
    """
    content = {"version": VERSION, "default": names.default, "aliases": dict(names.aliases)}
    write_own_file(own_file(FILE), "file of models", content)
