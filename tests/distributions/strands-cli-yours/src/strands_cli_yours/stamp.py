"""The tool `stamp`."""

TOOL_SPEC = {
    "name": "stamp",
    "description": "Put the length of the seal behind a text.",
    "inputSchema": {
        "json": {
            "type": "object",
            "properties": {"text": {"type": "string", "description": "The text to stamp."}},
            "required": ["text"],
        }
    },
    "annotations": {"readOnlyHint": True, "destructiveHint": False},
    "strands_cli": {"capabilities": {"secrets": ["SEAL"]}},
}


def stamp(tool, strands_cli=None, **kwargs):
    """Serve one call."""
    text = tool["input"].get("text")
    if not isinstance(text, str):
        content = [{"text": "invalid_input: 'text' must be a string"}]
        return {"toolUseId": tool["toolUseId"], "status": "error", "content": content}
    seal = (strands_cli or {}).get("secrets", {}).get("SEAL", "")
    content = [{"text": f"{text} ({len(seal)})"}]
    return {"toolUseId": tool["toolUseId"], "status": "success", "content": content}
