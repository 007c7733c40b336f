"""Texts that look like the credentials of well-known services; a value is never part of the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator

from strands_cli.system.protected_names import secret_in

# What it is -> how it is written. Each form is so particular that plain text does not have it by chance.
_FORMS = {
    "a private key": r"-----BEGIN [A-Z ]{0,30}PRIVATE KEY-----",
    "a key of AWS": r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    "a token of GitHub": r"\bgh[pousr]_[A-Za-z0-9]{30,}|\bgithub_pat_[A-Za-z0-9_]{22,}",
    "a token of GitLab": r"\bglpat-[\w-]{20,}",
    "a token of Slack": r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",
    "a key of Google": r"\bAIza[0-9A-Za-z_-]{35}\b",
    "a key of a model's provider": r"\bsk-(?=[\w-]*\d)(?:[A-Za-z]+-){0,3}[A-Za-z0-9_]{20,}",
    "a token of Hugging Face": r"\bhf_[A-Za-z0-9]{30,}",
    "a token of a package index": r"\bnpm_[A-Za-z0-9]{36}\b|\bpypi-[A-Za-z0-9_-]{50,}",
    "a signed token": r"\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}",
}
_ANY = re.compile("|".join(f"({form})" for form in _FORMS.values()))
_MOST = 20


def credentials_in(text: str, file: str = "") -> Iterator[tuple[int | None, str]]:
    """Yield the 1-based line and the kind of each part of a text that looks like a credential, at most 20.

    Args:
        file: The name of the text's file; where it is that of a file with credentials, it is all that is yielded, with
            None as the line.
    """
    if file and secret_in([file]):
        yield None, "a file of credentials"
        return
    kinds = list(_FORMS)
    for number, found in enumerate(_ANY.finditer(text)):
        if number == _MOST:
            return
        yield text.count("\n", 0, found.start()) + 1, kinds[(found.lastindex or 1) - 1]
