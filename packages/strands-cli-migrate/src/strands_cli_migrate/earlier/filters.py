"""The filters of the earlier format, written with those of the present one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strands_cli_migrate.earlier.tokens import Edit, Template, Token, literal

# The replacement of a filter that a template names in a text, as in `map('truncate', 5)`.
NAMED_FILTERS = ("truncate", "regex_search")


def filter_edits(template: Template) -> Iterator[Edit]:
    """Yield the edits for the filters of a template.

    `truncate` cut at any character; `regex_search` gave the first group of a match in any case of letters, and an empty
    text where there was no match or no group.
    """
    for position in template.filters():
        word, arguments = template.tokens[position], template.arguments(position)
        if word.text == "truncate":
            yield from _truncate_edits(template, position)
        elif word.text == "regex_search" and arguments is not None and len(arguments[0]) == 1:
            yield from _search_edits(arguments[0][0], template.tokens[arguments[1]])


def _truncate_edits(template: Template, position: int) -> Iterator[Edit]:
    """Yield the edits that keep the length of the text and let the cut be anywhere; other arguments had no effect."""
    word, arguments_and_end = template.tokens[position], template.arguments(position)
    if arguments_and_end is None or not arguments_and_end[0]:
        yield Edit(
            word.end,
            word.end if arguments_and_end is None else template.tokens[arguments_and_end[1]].end,
            "(255, true)",
        )
        return
    arguments, closing = arguments_and_end[0], template.tokens[arguments_and_end[1]]
    named = [
        argument[2:]
        for argument in arguments
        if len(argument) > 2 and argument[0].text == "length" and argument[1].text == "="
    ]
    first = [argument for argument in arguments[:1] if len(argument) < 2 or argument[1].text != "="]
    length = [*named, *first]
    if not length:
        yield Edit(word.end, closing.end, "(255, true)")
        return
    start, end = length[0][0].start, length[0][-1].end
    yield Edit(template.tokens[position + 1].end, start, "")
    yield Edit(end, closing.start, ", true")


def is_unclear(template: Template) -> bool:
    """Return whether a search has a pattern known only in the run, so that it may have no group."""
    searches = [position for position in template.filters() if template.tokens[position].text == "regex_search"]
    arguments_found = [template.arguments(search) for search in searches]
    return any(
        arguments is not None and len(arguments[0]) == 1 and literal(_value(arguments[0][0])) is None
        for arguments in arguments_found
    )


def names_filters(template: Template) -> bool:
    """Return whether a template names such a filter in a text, for another filter to call."""
    tokens = template.tokens
    return any(
        token.kind == "string" and token.text[1:-1] in NAMED_FILTERS and template.before(position) == "("
        for position, token in enumerate(tokens)
        if position > 1 and tokens[position - 2].text in ("map", "select", "reject")
    )


def _value(argument: Sequence[Token]) -> Sequence[Token]:
    return argument[2:] if len(argument) > 2 and argument[1].text == "=" else argument


def _search_edits(pattern: Sequence[Token], closing: Token) -> Iterator[Edit]:
    value = literal(_value(pattern))
    if value is not None and _groups(value) == 0:
        # An empty group is then the result of the search.
        last = pattern[-1]
        yield Edit(last.end - 1, last.end - 1, "()")
    yield Edit(closing.start, closing.end, ", ignorecase=true) | default('', true)")


def _groups(pattern: str) -> int | None:
    """Return how many groups a pattern has; None for an invalid one."""
    try:
        return re.compile(pattern).groups
    except (re.error, RecursionError, OverflowError):
        return None
