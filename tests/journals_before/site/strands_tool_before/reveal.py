from strands_tool_before import note, wait

TOOL_SPEC = {'name': 'reveal', 'description': 'Does reveal.', 'inputSchema': {'json': {'type': 'object', 'properties': {'text': {'type': 'string'}}, 'required': ['text']}}, 'annotations': {'readOnlyHint': True}, 'strands_cli': {'capabilities': {'secrets': ['TOKEN']}}}


def reveal(tool, **kwargs):
    text = tool['input']['text']
    text = text + ' ' + kwargs['strands_cli']['secrets']['TOKEN']
    return {'toolUseId': tool['toolUseId'], 'status': 'success', 'content': [{'text': text}]}
