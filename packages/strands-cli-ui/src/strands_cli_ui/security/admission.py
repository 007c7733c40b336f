"""Who may see the page: one unused token at a time, and the sessions of those who had one."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass, field

# The most browsers admitted at a time; the oldest loses its place.
SESSIONS = 50


@dataclass(frozen=True, slots=True)
class Session:
    """One admitted browser.

    Attributes:
        cookie: The secret that it sends with each request.
        csrf: The secret that each of its forms has.
    """

    cookie: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)


class Admission:
    """Exchanges tokens, each once, for sessions that last as long as this process.

    Wrong tokens are not counted: 256 bits cannot be guessed, and those who send wrong ones could keep the owner out.

    Args:
        announce: Is given each new token, which replaces the used one.
    """

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._token = ""
        self._sessions: dict[bytes, Session] = {}

    def renew(self) -> None:
        """Make a token, and announce it; the one before it is no longer taken."""
        self._token = secrets.token_urlsafe(32)
        self._announce(self._token)

    def redeem(self, token: str) -> Session | None:
        """Return a new session for the token, which it uses up; None for a wrong one."""
        if not self._token or not secrets.compare_digest(token.encode(), self._token.encode()):
            return None
        session = Session()
        while len(self._sessions) >= SESSIONS:
            del self._sessions[next(iter(self._sessions))]
        self._sessions[_digest(session.cookie)] = session
        self.renew()
        return session

    def session_of(self, cookie: str) -> Session | None:
        """Return the session of a cookie; its digest is looked up, so that time tells nothing of the cookie."""
        return self._sessions.get(_digest(cookie))


def _digest(cookie: str) -> bytes:
    return hashlib.sha256(cookie.encode("utf-8", "replace")).digest()
