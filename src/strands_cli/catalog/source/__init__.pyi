from strands_cli.catalog.source.source_reader import MAX_SOURCE_BYTES as MAX_SOURCE_BYTES
from strands_cli.catalog.source.source_reader import SourceError as SourceError
from strands_cli.catalog.source.source_reader import SourceTool as SourceTool
from strands_cli.catalog.source.source_reader import from_tool_spec as from_tool_spec
from strands_cli.catalog.source.source_reader import read_tool as read_tool
