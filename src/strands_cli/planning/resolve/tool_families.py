"""From `native:files.*` to the installed tools of that family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from strands_cli.catalog.resolution import UNKNOWN_TOOL
from strands_cli.catalog.tool_record import TOOL_CONFLICT
from strands_cli.errors import Finding, InvalidInput, Where, suggest

if TYPE_CHECKING:
    from strands_cli.catalog.catalog import Catalog
    from strands_cli.catalog.tool_record import ToolRecord
    from strands_cli.toolref import ToolRef


def family_of(ref: ToolRef, catalog: Catalog, where: Where | None = None) -> Sequence[ToolRecord] | Finding:
    """Return the usable tools of a family, which are of one distribution, or why there are none.

    A distribution that is installed later and claims a family must not add tools to agents that name it.
    """
    known = [record for record in catalog.tools if record.family and record.usable]
    found = [one for one in known if one.family == ref.name and ref.distribution in (None, one.distribution)]
    owners = sorted({record.distribution for record in found})
    if len(owners) == 1:
        return found
    if owners:
        names = " or ".join(f"native:{owner}/{ref.name}.*" for owner in owners)
        message = f"tools of the family '{ref.name}' come from {len(owners)} distributions"
        return Finding(TOOL_CONFLICT, message, where, f"write {names}")
    families = sorted({str(record.family) for record in known})
    fix = suggest(ref.name, families, f"families here: {', '.join(families) or 'none'}")
    if elsewhere := sorted({record.distribution for record in known if record.family == ref.name}):
        names = " or ".join(f"'native:{owner}/{ref.name}.*'" for owner in elsewhere)
        fix = f"did you mean {names}?"
    elif any(one.name == ref.name and one.members for one in catalog.tools):
        fix = f"{ref.name!r} is a tool that holds several, not a family: write {str(ref).removesuffix('.*')!r}"
    return Finding(UNKNOWN_TOOL, f"no installed tool has the family '{ref.name}' of '{ref}'", where, fix)


def require_family(ref: ToolRef, catalog: Catalog) -> Sequence[ToolRecord]:
    """Return the usable tools of a family.

    Raises:
        InvalidInput: There are none, or they are of several distributions.
    """
    found = family_of(ref, catalog)
    if isinstance(found, Finding):
        raise InvalidInput(found.message, findings=[found], fix=found.fix)
    return found
