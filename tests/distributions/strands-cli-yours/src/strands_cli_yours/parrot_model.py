"""The model of the provider `parrot`."""

from strands.models import Model


class Parrot(Model):
    """Repeats the last message."""

    def __init__(self, model_id, volume=1):
        self.name, self.volume = model_id, volume

    def update_config(self, **model_config):
        pass

    def get_config(self):
        return {}

    def structured_output(self, *args, **kwargs):
        raise NotImplementedError

    async def stream(self, messages, *args, **kwargs):
        heard = messages[-1]["content"][0]["text"]
        yield {"messageStart": {"role": "assistant"}}
        yield {"contentBlockDelta": {"delta": {"text": f"{self.name} says {heard * self.volume}"}}}
        yield {"contentBlockStop": {}}
        yield {"messageStop": {"stopReason": "end_turn"}}
