"""Makes the calls of the bench's chain with the bare SDK: the reference that `strands run` is measured against."""

from __future__ import annotations

import sys

from strands import Agent
from strands.models.openai import OpenAIModel


def main(url: str) -> None:
    """Ask three agents one after another, each about the answer before."""
    answer = "Say a word about rivers."
    for template in ("{}", "Go on from here: {}", "Sum up: {}"):
        client = {"base_url": url, "api_key": "not-a-key", "max_retries": 0}
        model = OpenAIModel(client_args=client, model_id="bench")
        agent = Agent(model=model, system_prompt="Answer in one line.", tools=[], callback_handler=None)
        answer = str(agent(template.format(answer))).rstrip("\n")
    print(answer)


if __name__ == "__main__":
    main(sys.argv[1])
