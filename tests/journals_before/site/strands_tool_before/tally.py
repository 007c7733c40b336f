from strands_tool_before import note, wait

TOOL_SPEC = {'name': 'tally', 'description': 'Does tally.', 'inputSchema': {'json': {'type': 'object', 'properties': {'text': {'type': 'string'}}, 'required': ['text']}}, 'annotations': {'readOnlyHint': True}}


def tally(tool, **kwargs):
    text = tool['input']['text']
    note(text)
    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': text}]}
