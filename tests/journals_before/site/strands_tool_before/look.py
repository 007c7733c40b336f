from strands_tool_before import note, wait

TOOL_SPEC = {'name': 'look', 'description': 'Does look.', 'inputSchema': {'json': {'type': 'object', 'properties': {'text': {'type': 'string'}}, 'required': ['text']}}, 'annotations': {'readOnlyHint': True}}


def look(tool, **kwargs):
    text = tool['input']['text']
    wait(text)
    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': text}]}
