"""Which tools are installed, from entry points, manifests and source, importing no plugin."""

from __future__ import annotations

from strands_cli.catalog.catalog import Catalog, discover_catalog
from strands_cli.catalog.tool_record import ToolRecord, ToolStatus

__all__ = ["Catalog", "ToolRecord", "ToolStatus", "discover_catalog"]
