"""Models that go on with a call when the ones before them are down: which, on which failures, and for how long."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any
from weakref import WeakKeyDictionary

from strands.models import Model
from strands.types.exceptions import ContextWindowOverflowException

from strands_cli.agents.model.answer_faults import AnswerFault
from strands_cli.agents.model.client_errors import causes_of, is_spent
from strands_cli.agents.model.pacing import HeldBack
from strands_cli.agents.model.retry import is_temporary, is_throttled
from strands_cli.engine.effects.shared_pace import SharedPace
from strands_cli.providers import ModelSettings
from strands_cli.workflow.sections import Failure

# So long a model is not asked first after its first failure; twice as long after each further one.
REST_S = 60.0
MOST_REST_S = 900.0


def failure_of(error: BaseException) -> Failure | None:
    """Return the failure on which another model may go on.

    None for wrong keys and requests, refusals, and answers that the model spoiled: another one would hide these.
    """
    if isinstance(error, ContextWindowOverflowException):
        return "context"
    if isinstance(error, HeldBack) or is_spent(error) or is_throttled(error):
        return "throttled"
    is_of_model = any(isinstance(cause, AnswerFault) and cause.is_of_model for cause in causes_of(error))
    return "down" if is_temporary(error) and not is_of_model else None


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A model that may answer a call, and the failures of others on which it does.

    `shared` is the object that its failures are known by, for all runs of the process, and `pace` that of its requests.
    """

    model: Model
    settings: ModelSettings
    on: tuple[Failure, ...] = ()
    shared: Model | None = None
    pace: SharedPace | None = None

    @property
    def label(self) -> str:
        """Provider and model for people."""
        return self.settings.label


@dataclass(slots=True)
class _Rest:
    """Until when a model is asked after the others only, and since how many failures."""

    until: float
    failures: int
    failure: Failure


_RESTS: WeakKeyDictionary[Model, _Rest] = WeakKeyDictionary()


@dataclass(slots=True)
class Line:
    """The models of one call in the order in which they are asked.

    One that has failed is asked after the others until it has rested: as long as its server asks, or a minute, and
    twice as long with each further failure, up to a quarter of an hour. Then one attempt shows whether it is back.
    """

    candidates: Sequence[Candidate]
    _asked: list[Candidate] = field(default_factory=list)
    _failures: set[Failure] = field(default_factory=set)

    def next(self, now: float) -> Candidate | None:
        """Return the model that is asked next, or None where no other may answer.

        Args:
            now: The time of the run's clock that never jumps.
        """
        resting = None
        failures = set(self._failures)
        for candidate in self._left(failures):
            rest = self._rest_of(candidate)
            if rest is None or rest.until <= now:
                self._asked.append(candidate)
                return candidate
            failures.add(rest.failure)
            resting = resting or candidate
        self._asked += [resting] if resting else []
        return resting

    def _left(self, failures: set[Failure]) -> Iterator[Candidate]:
        """Yield those that were not asked and may answer after these failures, to which the caller may add."""
        for candidate in self.candidates:
            if candidate not in self._asked and (candidate is self.candidates[0] or failures & {*candidate.on}):
                yield candidate

    def may_follow(self, failure: Failure | None) -> bool:
        """Return whether another model may answer after this failure of the present one."""
        return failure is not None and next(self._left({*self._failures, failure}), None) is not None

    def is_trial(self, candidate: Candidate) -> bool:
        """Return whether one attempt shows whether a model is back, since others can answer in its place."""
        return self._rest_of(candidate) is not None and self.may_follow("down")

    @property
    def has_passed_on(self) -> bool:
        """Whether several models were asked."""
        return len(self._asked) > 1

    def after(
        self, candidate: Candidate, error: BaseException, retry_after: float | None, now: float
    ) -> Candidate | None:
        """Let a model rest that has failed, and return the one that goes on; None where none may."""
        failure = failure_of(error)
        if failure is None or len(self.candidates) == 1:
            return None
        self._failures.add(failure)
        self._rest(candidate, failure, retry_after, now)
        return self.next(now)

    def _rest(self, candidate: Candidate, failure: Failure, retry_after: float | None, now: float) -> None:
        rest = self._rest_of(candidate)
        if failure == "context" or candidate.shared is None or (rest is not None and rest.until > now):
            return
        count = rest.failures + 1 if rest is not None else 1
        seconds = min(REST_S * 2.0 ** min(count - 1, 10), MOST_REST_S) if retry_after is None else retry_after
        _RESTS[candidate.shared] = _Rest(now + seconds, count, failure)

    def answered(self, candidate: Candidate) -> None:
        """Let a model that has answered be asked in its turn again."""
        if candidate.shared is not None:
            _RESTS.pop(candidate.shared, None)

    def _rest_of(self, candidate: Candidate) -> _Rest | None:
        return _RESTS.get(candidate.shared) if candidate.shared is not None else None


# Turns of one model in a request to another: thoughts, which only their own takes, and the ids of tool calls.


_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
# https://docs.mistral.ai/api: an id has nine letters and digits.
_SHORT_ID = re.compile(r"[A-Za-z0-9]{9}")


class Thoughts:
    """Knows which model wrote the thoughts of a conversation; they are signed for it, or mean nothing to others."""

    def __init__(self) -> None:
        self._labels: dict[str, str] = {}

    def learn(self, events: Sequence[Mapping[str, Any]], label: str) -> None:
        """Take the thoughts of a turn in the journal's form, which a model has written."""
        text = ""
        for event in events:
            delta = event.get("contentBlockDelta", {}).get("delta", {}).get("reasoningContent") or {}
            text += str(delta.get("text") or "")
            if "contentBlockStop" in event and text:
                self._labels[text], text = label, ""
            start = event.get("contentBlockStart", {}).get("start", {}).get("toolUse") or {}
            for mark in (delta.get("signature"), start.get("reasoningSignature")):
                self._labels |= {str(mark): label} if mark else {}

    def readable(self, messages: Sequence[Any], candidate: Candidate) -> list[Any]:
        """Return messages as a model can read them: with thoughts of its own only, and ids that its service takes."""
        pattern = _SHORT_ID if candidate.settings.provider == "mistral" else _ID
        changed = []
        for message in messages:
            blocks = [self._block(block, candidate.label, pattern) for block in message["content"]]
            content = [block for block in blocks if block is not None]
            changed.append({**message, "content": content or [{"text": "(no text)"}]})
        return changed

    def _block(self, block: Mapping[str, Any], label: str, pattern: re.Pattern[str]) -> Mapping[str, Any] | None:
        if (thought := block.get("reasoningContent")) is not None:
            text = thought.get("reasoningText") or {}
            marks = (text.get("signature"), text.get("text"))
            return block if any(self._labels.get(str(mark)) == label for mark in marks if mark) else None
        for kind in ("toolUse", "toolResult"):
            if kind in block:
                part = dict(block[kind])
                if pattern.fullmatch(part["toolUseId"]) is None:
                    part["toolUseId"] = sha256(part["toolUseId"].encode("utf-8", "replace")).hexdigest()[:9]
                signature = part.get("reasoningSignature")
                if signature is not None and self._labels.get(str(signature)) != label:
                    del part["reasoningSignature"]
                return {**block, kind: part}
        return block
