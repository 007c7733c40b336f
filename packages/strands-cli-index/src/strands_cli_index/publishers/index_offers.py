"""The provenance that indexes offer for a file, and the proved publisher."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from typing import Any
from urllib.parse import unquote, urljoin, urlsplit

from strands_cli_index.publishers.attestations import attested_by
from strands_cli_index.publishers.attested import EXTRA, PublisherAttestation, unverified
from strands_cli_index.publishers.index_settings import IndexSettings
from strands_cli_index.publishers.limited_fetch import FetchedDocument, Limits, NotFetchedError, fetch_limited
from strands_cli_index.publishers.provenance_file import MAX_BYTES

# https://packaging.python.org/en/latest/specifications/simple-repository-api/
_ACCEPT = "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1"
_JSON = ("application/vnd.pypi.simple.v1+json", "application/json")
MAX_INDEX_BYTES = 20_000_000
# The strongest first: a proof of one index counts, whatever another one offers.
_ORDER = ("verified", "wrong", "unverified")


def attested_by_indexes(
    name: str, files: Iterable[tuple[str, str]], settings: IndexSettings, limits: Limits | None = None
) -> PublisherAttestation:
    """Return who published a file, by the provenance that indexes offer for it.

    Args:
        name: The normalised name of the distribution.
        files: The name and the SHA-256 (hexadecimal) of the file; an empty name is any wheel with this digest.
        settings: The indexes, each asked for its list of files and for one provenance document.
        limits: The limits of an index's answers, if not the usual.
    """
    if find_spec("pypi_attestations") is None:
        return unverified(EXTRA)
    if not settings.urls:
        return unverified("no index is configured")
    file_digests = tuple(files)
    answers = [_by_index(url, name, file_digests, settings.authorities, limits) for url in settings.urls]
    return min(answers, key=lambda answer: _ORDER.index(answer.status))


def _by_index(
    url: str, name: str, file_digests: tuple[tuple[str, str], ...], authorities: str | None, limits: Limits | None
) -> PublisherAttestation:
    host = urlsplit(url).hostname or "the index"
    try:
        page = fetch_limited(f"{url}/{name}/", _ACCEPT, limits or Limits(MAX_INDEX_BYTES), authorities)
        offered = [offer for offer in _offers(page) if _is_wanted(offer, file_digests)]
        if len({(file, digest) for file, digest, _ in offered}) != 1:
            return unverified(f"{host} does not list the file" if not offered else f"{host} lists several such files")
        file, digest, address = offered[0]
        if address is None:
            return unverified(f"{host} offers no attestation")
        document = urljoin(page.url, address)
        if urlsplit(document).scheme not in ("https", urlsplit(page.url).scheme):
            return unverified(f"{host} offers an attestation at an address that is not fetched")
        spent = Limits(MAX_BYTES, limits.seconds) if limits is not None else Limits(MAX_BYTES)
        raw = fetch_limited(document, "application/vnd.pypi.integrity.v1+json, application/json", spent, authorities)
    except NotFetchedError as error:
        return unverified(f"{host}: {error}")
    except ValueError:
        return unverified(f"{host} has an address that cannot be read")
    return attested_by(raw.content, file, digest)


def _is_wanted(offer: tuple[str, str, str | None], file_digests: tuple[tuple[str, str], ...]) -> bool:
    file, digest, _ = offer
    return (file, digest) in file_digests or (file.endswith(".whl") and ("", digest) in file_digests)


def _offers(page: FetchedDocument) -> Iterator[tuple[str, str, str | None]]:
    """Yield the files of a list: name, SHA-256, and the address of their provenance, None without one."""
    if page.content_type in _JSON:
        yield from _json_offers(page.content)
        return
    reader = _Links()
    reader.feed(page.content.decode("utf-8", "replace"))
    yield from reader.offers


def _json_offers(content: bytes) -> Iterator[tuple[str, str, str | None]]:
    try:
        document: Any = json.loads(content)
    except (ValueError, RecursionError):
        raise NotFetchedError("its list of files is not JSON") from None
    files = document.get("files") if isinstance(document, dict) else None
    if not isinstance(files, list):
        raise NotFetchedError("its list of files has another form")
    for entry in files:
        hashes = entry.get("hashes") if isinstance(entry, dict) else None
        digest = hashes.get("sha256") if isinstance(hashes, dict) else None
        if isinstance(digest, str) and isinstance(entry.get("filename"), str):
            address = entry.get("provenance")
            yield entry["filename"], digest.lower(), address if isinstance(address, str) and address else None


class _Links(HTMLParser):
    """The files of a list in HTML (PEP 503), with `data-provenance` (PEP 740)."""

    def __init__(self) -> None:
        super().__init__()
        self.offers: list[tuple[str, str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the file of a link with its digest."""
        named = dict(attrs)
        path, _, digest = (named.get("href") or "").partition("#sha256=")
        if tag == "a" and digest:
            self.offers.append(
                (unquote(urlsplit(path).path.rpartition("/")[2]), digest.lower(), named.get("data-provenance"))
            )
