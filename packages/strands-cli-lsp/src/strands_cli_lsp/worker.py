"""A process that looks at texts, so that one that hangs or ends can be replaced; it reads and writes lines of JSON."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main() -> None:
    """Answer requests, each a line with an id, the name of a function of `language` and its arguments."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # nothing else may write between answers
    from strands_cli_lsp import language

    functions = {function.__name__: function for function in language.FUNCTIONS}
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        try:
            answer = {"id": request["id"], "result": functions[request["name"]](**request["arguments"])}
        except Exception as error:  # noqa: BLE001 - a fault of one text must not end the process
            answer = {"id": request["id"], "fault": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
