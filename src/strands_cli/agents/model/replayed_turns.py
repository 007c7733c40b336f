"""A model for the SDK that plays turns, for tests of agents; the SDK is imported when one is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from strands_cli.workflow.recording_file import RecordedCall, RecordedTurn

if TYPE_CHECKING:
    from strands.models import Model


def replay_model(turns: Sequence[Mapping[str, Any]], key: str = "model") -> Model:
    """Return a model for the SDK that plays turns in order; one request more, or another one, is an error.

    Args:
        turns: As in a recording: each has `text`, or `calls` (a list of objects with `tool` and `input`), or both, and
            may have the end of the request that it answers as `when`, and a `stop_reason`.
        key: Its name in messages; the ids of its calls begin with it.

    Raises:
        TypeError: A turn or a call has another key.
    """
    from strands_cli.agents.model.replay import ReplayModel

    return ReplayModel([_turn(**turn) for turn in turns], key)


def _turn(*, calls: Sequence[Mapping[str, Any]] = (), **fields: Any) -> RecordedTurn:
    return RecordedTurn(calls=tuple(RecordedCall(**call) for call in calls), **fields)
