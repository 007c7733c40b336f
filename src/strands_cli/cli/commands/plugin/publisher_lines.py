"""Who published a plugin, as `plugin install` and `plugin verify` show it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Denied, Finding
from strands_cli.texts.unicode_safety import printable

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.plugins.install.download import Fetched
    from strands_cli.plugins.install.installer import Installer
    from strands_cli.plugins.publisher.attested import Attested

_REPORT = "pip install --upgrade sigstore, and try again; if it stays wrong, report it to its author and to the index"


def publisher_of_fetched(fetched: Fetched, installer: Installer, known: dict[str, Any]) -> Attested:
    """Return who published a distribution that is about to be installed, and note it in `known`.

    Raises:
        Denied: What is offered proves that something is wrong.
    """
    from strands_cli.plugins.publisher.publisher_check import check_fetched

    attested = check_fetched(fetched, installer)
    known["publisher"] = attested.as_dict()
    if attested.status == "wrong":
        finding = wrong_publisher(fetched.name, attested)
        raise Denied(f"'{fetched.name}' is not installed", findings=[finding])
    return attested


def wrong_publisher(name: str, attested: Attested) -> Finding:
    """Return the finding about a publisher that is not proved by what is offered."""
    from strands_cli.plugins.publisher.publisher_check import PUBLISHER_WRONG

    message = f"the publisher of '{name}' is not proved: {_plain(attested.reason)}"
    return Finding(PUBLISHER_WRONG, message, None, _REPORT)


def publisher_lines(name: str, attested: Attested, installed: Catalog) -> Iterator[str]:
    """Yield the lines of a preview about the publisher, and about that of the version that is installed."""
    from strands_cli.catalog.publisher_records import publisher_of

    yield f"  {publisher_words(attested)}"
    before = publisher_of(name, installed.seen)
    if before is not None and before != attested.publisher:
        yield f"  warning: the installed version was published by {before}"


def publisher_words(attested: Attested) -> str:
    """Return `published by github:acme/tool (release.yml)`, or `publisher: unverified (REASON)`."""
    if attested.publisher is not None:
        return f"published by {attested.publisher}"
    return f"publisher: {attested.status} ({_plain(attested.reason)})"


def keep_installed(fetched: Fetched, attested: Attested) -> None:
    """Keep the publisher of what has just been installed, for policy and lock."""
    from strands_cli.catalog.catalog import discover_catalog
    from strands_cli.plugins.publisher.publisher_check import keep_publisher

    if attested.publisher is not None:
        keep_publisher(fetched, attested, discover_catalog().seen)


def _plain(reason: str) -> str:
    """Return a reason, which may have text of an index, in one line without invisible characters."""
    return printable(" ".join(reason.split()))
