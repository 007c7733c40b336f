"""The package indexes that the installer of this environment uses, as its own settings say."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from strands_cli.api import PluginInstaller, StrandsCliError

MAX_INDEXES = 10
# The line about the default index in the help of both installers; no address of an index is written here.
_DEFAULT = re.compile(r"default:?\s+<?(https://[^\s<>()]+)")
_PIP_SECTIONS = (":env:", "wheel", "global")
_TRUE = ("1", "true", "yes", "on")


@dataclass(frozen=True, slots=True)
class IndexSettings:
    """Where an installer looks for files: addresses of indexes, which may hold a password, and its certificates."""

    urls: tuple[str, ...]
    authorities: str | None = None


def find_indexes(installer: PluginInstaller, environ: Mapping[str, str]) -> IndexSettings:
    """Return the indexes of an installer; none if it uses none, or does not say."""
    try:
        if installer.program.kind == "pip":
            return _of_pip(installer)
        urls = [environ.get("UV_DEFAULT_INDEX") or environ.get("UV_INDEX_URL") or _default(installer, "pip", "install")]
        for name in ("UV_INDEX", "UV_EXTRA_INDEX_URL"):
            urls += [
                word.rpartition("=")[2] if "=" in word.partition("://")[0] else word
                for word in environ.get(name, "").split()
            ]
    except StrandsCliError:
        return IndexSettings(())
    return IndexSettings(_web(urls), environ.get("SSL_CERT_FILE"))


def _of_pip(installer: PluginInstaller) -> IndexSettings:
    settings = dict(_settings(installer.program.run("config", "list")))

    def value(name: str) -> str | None:
        return next((settings[key] for section in _PIP_SECTIONS if (key := f"{section}.{name}") in settings), None)

    if (value("no-index") or "").lower() in _TRUE:
        return IndexSettings(())
    first = value("index-url") or _default(installer)
    return IndexSettings(_web([first, *(value("extra-index-url") or "").split()]), value("cert"))


def _settings(text: str) -> Iterator[tuple[str, str]]:
    """Yield the settings that `pip config list` prints, `SECTION.NAME='VALUE'` each."""
    for line in text.splitlines():
        key, _, written = line.partition("=")
        try:
            value = ast.literal_eval(written)
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, str):
            yield key.strip(), value


def _default(installer: PluginInstaller, *words: str) -> str:
    match = _DEFAULT.search(installer.program.run("help", *(words or ("wheel",))))
    return match[1] if match is not None else ""


def _web(urls: list[str]) -> tuple[str, ...]:
    unique = dict.fromkeys(url.rstrip("/") for url in urls if url.lower().startswith(("https://", "http://")))
    return tuple(unique)[:MAX_INDEXES]
