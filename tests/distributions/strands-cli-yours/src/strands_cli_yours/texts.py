"""The filter `shout` and the source of secrets `vault`."""

from pathlib import Path


def shout(text: str, mark: str = "!") -> str:
    """Return a text in capitals."""
    return text.upper() + mark


def vault(secret) -> str:
    """Return the value of a secret: the text of a file of the vault."""
    return (Path("vault") / secret.path / secret.key).read_text(encoding="utf-8").strip()
