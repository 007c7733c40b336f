"""Compare the address that a call connects to with a glob of addresses, or of hosts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strands_cli.policy.matching.argument_globs import is_doubtful, matches_glob, may_begin, readings
from strands_cli.policy.matching.url_forms import canonical_glob, canonical_host, canonical_url, host_of, without_query


def connects_to(name: str, glob: str, kind: str = "url") -> bool:
    """Return whether an address, in any reading, is one that a glob of addresses or of hosts matches.

    Args:
        name: The address, or the host, of which every path may be meant.
        glob: The glob; one of hosts has no `://` and matches every port, one of addresses without a path every path.
        kind: The kind of the resource, `url` or `host`.
    """
    wanted = _address_glob(glob.casefold())
    urls = {url.casefold() for reading in readings(name) for url in _urls(reading)}
    if "://" not in glob:
        return any(matches_glob(form, wanted) for url in urls for form in _hosts_of(url))
    if any(matches_glob(form, wanted) for url in urls for form in (url, without_query(url))):
        return True
    return kind == "host" and any(may_begin(url, wanted) for url in urls)


def _urls(text: str) -> Iterator[str]:
    """Yield the addresses, in their usual form, that a text may mean."""
    for form in (text,) if "://" in text else (text, f"https://{text}", f"http://{text}"):
        if url := canonical_url(form):
            yield url


def _hosts_of(url: str) -> tuple[str, str]:
    host = host_of(url)
    return host, re.sub(r":\d+$", "", host)


def _address_glob(glob: str) -> str:
    """Return a glob of addresses in the usual form, all paths where it has none; one of hosts likewise."""
    if "://" not in glob:
        return canonical_host(glob)
    is_whole = "/" not in glob.partition("://")[2]
    return canonical_glob(f"{glob}/**" if is_whole else glob)


def connects_only_to(name: str, glob: str) -> bool:
    """Return whether an address is certainly one that a glob of addresses or of hosts matches."""
    url = canonical_url(name)
    if url is None or is_doubtful(name):
        return False
    return matches_glob(url if "://" in glob else host_of(url), _address_glob(glob))
