"""The common parts of the tools' specs: paths, and the claims of a tool that reads the workspace."""

from __future__ import annotations

from typing import Any

from strands_tool_kit.spec import array, boolean, capabilities, for_programs, inputs, integer, outputs, record, string

NOTICES = array(string())


def path(description: str, **rules: Any) -> dict[str, Any]:
    """Return the rule of a path of the workspace."""
    return string(description, length=(1, 4096), **rules)


def reads_files(max_output_bytes: int, *, subprocess: bool = False) -> dict[str, Any]:
    """Return the claims of a tool that reads its `path`, and returns at most so many bytes."""
    return {
        "requires_confirmation": False,
        "capabilities": capabilities(filesystem="read", subprocess=subprocess),
        "resources": {"reads": ["file:{path}"], "writes": []},
        "timeout_s": 30,
        "max_output_bytes": max_output_bytes,
    }


def end_inputs(lines: str, bytes_limit: str) -> dict[str, Any]:
    """Return the `inputSchema` of `head` and `tail`, with the descriptions of their two numbers."""
    properties = {
        "path": path("Path relative to the workspace, or '@mount/path'."),
        "lines": integer(lines, between=(1, 10000), default=10),
        "bytes_limit": integer(bytes_limit, between=(1, 1048576), default=65536),
    }
    return inputs(properties, required=["path"])


def end_outputs(has_more: str) -> dict[str, Any]:
    """Return the `outputSchema` of `head` and `tail`, with the description of `has_more`."""
    properties = {
        "path": string(),
        "size": integer("Bytes of the whole file."),
        "encoding": string("The encoding it was read with."),
        "lines": integer("Number of lines in the text."),
        "has_more": boolean(has_more),
        "truncated": boolean("Whether bytes_limit ended the text."),
        "notices": NOTICES,
    }
    return outputs(properties, additionalProperties=False)


IGNORE_CASE = boolean("Take upper and lower case for the same.", default=False)
MAX_MATCHES = integer("Stop after so many matching lines.", between=(1, 1000), default=100)
MATCHES = outputs(
    {
        "path": string(),
        **for_programs(
            matches=array(
                record(
                    {
                        "path": string("File, as file_read takes it."),
                        "line": integer("Number of the line, from 1."),
                        "text": string("The line; of a long one a part."),
                    }
                )
            ),
            notices=NOTICES,
        ),
        "files_searched": integer(),
        "truncated": boolean("Whether a limit ended the search."),
    },
    additionalProperties=False,
)
