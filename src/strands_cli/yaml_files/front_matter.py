"""The YAML between two lines `---` at the beginning of a text, as a SKILL.md has it."""

from __future__ import annotations

MAX_DESCRIPTION = 1024


def described_in(text: str, file: str) -> str | None:
    """Return the `description` of the front matter in one line of at most `MAX_DESCRIPTION` characters, or None.

    Args:
        file: What an error calls the text.

    Raises:
        InvalidInput: The front matter is not YAML.
    """
    front = front_matter_of(text)
    if front is None:
        return None
    from strands_cli.yaml_files.yaml_events import parse

    value = parse(file, front).value
    found = value.get("description") if isinstance(value, dict) else None
    return " ".join(found.split())[:MAX_DESCRIPTION] or None if isinstance(found, str) else None


def front_matter_of(text: str) -> str | None:
    """Return the YAML between the two `---` at the beginning of a text, or None."""
    lines = text.splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    end = next((number for number, line in enumerate(lines[1:], 1) if line.rstrip() == "---"), None)
    return None if end is None else "".join(f"{line}\n" for line in lines[1:end])


def without_front_matter(text: str) -> str:
    """Return a text without the YAML between the two `---` at its beginning."""
    front = front_matter_of(text)
    return text if front is None else "\n".join(text.splitlines()[len(front.splitlines()) + 2 :])
