"""Send a message to a webhook as a POST request, signed in the way of standard-webhooks."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import http.client
import time
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from strands_cli_notify.targets import is_loopback

WHSEC = "whsec_"
LEAST_KEY = 16
# An answer by which a server asks to try again.
_AGAIN = frozenset({429, 500, 502, 503, 504})


class NotSent(Exception):
    """A message did not arrive; the text gives the reason, without any part of a secret.

    Attributes:
        again: Whether another attempt can succeed at once.
    """

    def __init__(self, reason: str, *, again: bool = False) -> None:
        super().__init__(reason)
        self.again = again


def key_of(secret: str) -> bytes:
    """Return the key that a secret means: Base64 after `whsec_`, else the text itself.

    Raises:
        NotSent: It is not Base64, or too short to protect.
    """
    text = secret.strip()
    try:
        key = base64.b64decode(text.removeprefix(WHSEC), validate=True) if text.startswith(WHSEC) else text.encode()
    except binascii.Error:
        raise NotSent(f"the secret begins with {WHSEC} and is not Base64 after it") from None
    if len(key) < LEAST_KEY:
        raise NotSent(f"the secret is shorter than {LEAST_KEY} bytes")
    return key


def signed_headers(key: bytes, message_id: str, sent_at: int, body: bytes) -> dict[str, str]:
    """Return the headers by which a receiver knows who has sent a body and when; `sent_at` is in seconds."""
    signed = f"{message_id}.{sent_at}.".encode() + body
    signature = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return {"webhook-id": message_id, "webhook-timestamp": str(sent_at), "webhook-signature": f"v1,{signature}"}


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the message is for the host that the config file names."""

    def redirect_request(self, *_: object) -> None:
        """Return no further request."""


def post(url: str, headers: dict[str, str], body: bytes, seconds: float) -> None:
    """Send one request; the server's answer beside its status is not read.

    Args:
        seconds: How long the connection, and then the answer, may take.

    Raises:
        NotSent: The server was not reached, or has not accepted the message.
    """
    # Other schemes are refused when the config file is read. A proxy cannot reach this machine.
    proxies: dict[str, str] | None = {} if is_loopback(urlsplit(url).hostname or "") else None
    opener = urllib.request.build_opener(urllib.request.ProxyHandler(proxies), _NoRedirect)
    request = urllib.request.Request(url, body, headers, method="POST")  # noqa: S310
    try:
        opener.open(request, timeout=seconds).close()
    except urllib.error.HTTPError as error:
        error.close()
        moved = ", a redirect, which is not followed" if 300 <= error.code < 400 else ""
        raise NotSent(f"it answered {error.code}{moved}", again=error.code in _AGAIN) from None
    except TimeoutError:
        raise NotSent("no answer in time") from None
    except (http.client.HTTPException, ValueError):
        raise NotSent("its answer is not HTTP") from None
    except OSError as error:
        reason = getattr(error, "reason", error)
        if isinstance(reason, TimeoutError):
            raise NotSent("no connection in time") from None
        raise NotSent(f"{getattr(reason, 'strerror', None) or reason}", again=True) from None


def send_signed(url: str, secret: str, message_id: str, body: bytes, seconds: float) -> None:
    """Sign a message and send it; a failed attempt is repeated once under the same id.

    Args:
        seconds: How long both attempts may take together.

    Raises:
        NotSent: Neither has arrived.
    """
    key, until = key_of(secret), time.monotonic() + seconds

    def attempt() -> None:
        headers = {"content-type": "application/json", "user-agent": "strands-cli"}
        headers |= signed_headers(key, message_id, int(time.time()), body)
        post(url, headers, body, max(0.1, until - time.monotonic()))

    try:
        attempt()
    except NotSent as error:
        pause = min(0.45, seconds / 10)  # for a server that just starts again
        if not error.again or time.monotonic() + 2 * pause > until:
            raise
        time.sleep(pause)
        attempt()
