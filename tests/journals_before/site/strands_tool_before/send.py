from strands_tool_before import note, wait

TOOL_SPEC = {'name': 'send', 'description': 'Does send.', 'inputSchema': {'json': {'type': 'object', 'properties': {'text': {'type': 'string'}}, 'required': ['text']}}, 'annotations': {'readOnlyHint': False, 'destructiveHint': False}}


def send(tool, **kwargs):
    text = tool['input']['text']
    wait(text)
    note(text)
    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': text}]}
