"""Follow the requirements of an installed distribution to the distributions that are installed for it."""

# Strings and os.path, as the catalog has them.
# ruff: noqa: PTH119
from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable, Iterator, Sequence

from strands_cli.catalog.distributions.closure import closures_of
from strands_cli.catalog.distributions.dist_info import RecordedFile, read_origin, read_record
from strands_cli.catalog.distributions.entry_points import Scan, record_version
from strands_cli.catalog.import_files import files_to_import, modules_of
from strands_cli.catalog.installed_files import digest_of_file, is_locked, lock_path

HOST = "strands-cli"


def required_distributions(names: Iterable[str], seen: Scan) -> dict[str, list[str]]:
    """Return, for each distribution, the names of those that it requires, and of those that these require, sorted.

    Only installed ones are named, and only for requirements whose markers fit this interpreter. What strands-cli itself
    requires is omitted: it is always installed, and changes with strands-cli.
    """
    wanted = list(names)
    if not wanted:
        return {}
    found = closures_of([HOST, *wanted], seen)
    return {name: sorted(found[name] - found[HOST] - {HOST, name}) for name in wanted}


def pin_of(name: str, seen: Scan) -> str | None:
    """Return the version of an installed distribution, and the digest of what its RECORD lists; None if it is absent.

    The digest covers the paths and hashes that two installations of one wheel share. An editable installation has only
    a version, because its RECORD does not list its code. What Python would import in place of a listed file follows,
    each after a `+`, as its path below the directory of `sys.path` and its digest.
    """
    copies = seen.records.get(name)
    if not copies:
        return None
    site, record = copies[0]
    digest = digest_of_record(record)
    instead = _instead(site, record, list(seen.listings)) if digest else ()
    return " ".join(filter(None, (record_version(record) or "unknown", digest, *instead)))


def _instead(site: str, dist_info: str, path: Sequence[str]) -> Iterator[str]:
    folder = os.path.basename(dist_info) + "/"
    own = {row.path for row in read_record(dist_info) or () if is_locked(row.path, folder)}
    modules = modules_of({name for name in own if not name.startswith(folder)})
    for module in sorted(one for one in modules if one not in sys.stdlib_module_names):
        for name, file in files_to_import(module, path):
            if name not in own or file != f"{site}{os.sep}{name}":
                yield f"+{name} {digest_of_file(file)}"


def digest_of_record(dist_info: str) -> str | None:
    """Return the digest of the paths and hashes of RECORD that two installations of one wheel share.

    It is None if there is no RECORD, and for an editable installation, whose code is elsewhere.
    """
    if read_origin(dist_info).install == "editable":
        return None
    return digest_of_rows(dist_info, read_record(dist_info))


def digest_of_rows(dist_info: str, rows: Iterable[RecordedFile] | None) -> str | None:
    """Return the digest of rows of the RECORD in a folder, as `digest_of_record` does; None without any rows."""
    if rows is None:
        return None
    folder = os.path.basename(dist_info) + "/"
    lines = sorted(f"{lock_path(row.path, folder)},{row.digest}\n" for row in rows if is_locked(row.path, folder))
    return f"sha256:{hashlib.sha256(''.join(lines).encode('utf-8', 'surrogateescape')).hexdigest()}"
