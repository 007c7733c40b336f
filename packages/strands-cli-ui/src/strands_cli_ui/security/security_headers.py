"""The headers of every response, which keep a browser from doing more than showing it."""

from __future__ import annotations

# What every response has. `no-referrer` keeps addresses, and with them the token, from other hosts.
HEADERS = {
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}
NO_CONTENT = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
