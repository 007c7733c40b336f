"""What the row of a call keeps of its arguments, for those who look at the run later."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from strands_cli.secrets.redactor import Redactor
from strands_cli.texts.phrases import shortened
from strands_cli.tools.calls.approval import cut

# As much as the journal stores beside a row without a file of its own.
MAX_BYTES = 64 * 1024
# In the detail of a row: the arguments as the model or the step wrote them, as the tool got them where that differs,
# and the mark that they are not whole.
ARGUMENTS, CALLED_WITH, CUT = "arguments", "called_with", "arguments_cut"


def kept_arguments(written: Any, arguments: Any, redactor: Redactor) -> dict[str, Any]:
    """Return what the row of a call keeps of its arguments; those that are too large are cut, with a mark."""
    text = json.dumps(written, ensure_ascii=False)
    # Before it is cut: half a secret would not be found.
    clean = redactor.json(written) if redactor.may_hide_in(text) else written
    kept: dict[str, Any] = {ARGUMENTS: clean}
    if len(text) > MAX_BYTES:
        kept = {ARGUMENTS: _small(clean), CUT: True}
    return kept if arguments == written else {**kept, CALLED_WITH: redactor.json(arguments)}


def _small(value: Any) -> Any:
    """Return arguments with long texts and lists cut, or the start of their JSON where they have too many names."""
    less = cut(value) if isinstance(value, (Mapping, list, str)) else value
    text = json.dumps(less, ensure_ascii=False)
    return less if len(text) <= MAX_BYTES else {"...": shortened(text, MAX_BYTES)}
