"""What is wrong with the syntax of a template, in words about the template instead of those of Jinja's parser."""

from __future__ import annotations

import re

from strands_cli.errors import suggest

_TAGS = ("if", "elif", "else", "endif", "for", "endfor", "set", "endset", "macro", "endmacro", "filter", "endfilter")
_OF_OTHERS = {
    "??": "write `a | default(b)` for `a ?? b`",
    "&&": "write `and` for `&&`",
    "||": "write `or` for `||`",
    "!": "write `not` for `!`",
    "?": "write `b if a else c` for `a ? b : c`",
}
_GENERAL = "templates are those of Jinja; the filters are in `strands list-supported`"
_OPENING = {")": "(", "]": "[", "}": "{"}
_MARKS = (("{{", "}}"), ("{%", "%}"), ("{#", "#}"))


def explain_syntax(text: str, problem: str, *, is_condition: bool = False) -> tuple[str, str]:
    """Return what is wrong with a text that does not compile, and how to correct it."""
    is_whole = text.count("{{") == 1 and text.strip().startswith("{{") and text.strip().endswith("}}")
    if is_condition and "{{" in text and not is_whole:
        return "a condition is one expression, and this one has `{{` in it", "write it without `{{ }}`: `a == 1`"
    return _unclosed(text) or _block(problem) or _operator(text, problem) or _part(problem) or _expression(problem)


def _unclosed(text: str) -> tuple[str, str] | None:
    if "{{{" in text:
        return "three braces open an expression, which needs two", "write `{{ name }}`"
    for begin, end in _MARKS:
        position = 0
        while (start := text.find(begin, position)) >= 0:
            close, following = text.find(end, start), text.find(begin, start + 2)
            if close < 0 or 0 <= following < close:
                before = " before the next one" if following >= 0 else ""
                return f"`{text[start : start + 20].split(chr(10))[0]}` is not closed{before}", f"close it with `{end}`"
            position = close + 2
    return None


def _block(problem: str) -> tuple[str, str] | None:
    if open_block := re.search(r"innermost block that needs to be closed is '(\w+)'", problem):
        name = open_block[1]
        return f"the block `{{% {name} %}}` has no end", f"end it with `{{% end{name} %}}`"
    if unknown := re.search(r"unknown tag '(\w+)'", problem):
        name = unknown[1]
        if name in _TAGS:
            return f"`{{% {name} %}}` belongs to no open block", "remove it, or write the beginning of its block"
        return f"there is no tag `{name}`", suggest(name, _TAGS, f"there are: {', '.join(_TAGS)}", form="`{}`") or ""
    return None


def _operator(text: str, problem: str) -> tuple[str, str] | None:
    if char := re.search(r"unexpected char (['\"])(.)\1", problem):
        if char[2] in "'\"":
            return "a quote in the expression is not closed", f"close it with `{char[2]}`"
        if char[2] == "`":
            return "a backtick is not a quote of expressions", "write ' for it"
        sign = next((sign for sign in _OF_OTHERS if sign.startswith(char[2]) and sign in text), None)
        fix = _OF_OTHERS[sign] if sign else f"remove it, or put it in quotes: '{char[2]}'"
        return f"`{sign or char[2]}` is not an operator of expressions", fix
    if "||" in text and re.search(r"expected token 'name'|unexpected '\|'", problem):
        return "`||` is not an operator of expressions", _OF_OTHERS["||"]
    if re.search(r"(got|unexpected) '='", problem):
        return "`=` stores a value, which an expression does not do", "write `==` to compare"
    return None


def _part(problem: str) -> tuple[str, str] | None:
    """Return what is wrong with a filter, a bracket, a comma or a loop."""
    if bracket := re.search(r", expected '([\])}])'", problem):
        return f"`{_OPENING[bracket[1]]}` is not closed in its expression", f"close it with `{bracket[1]}`"
    if bracket := re.fullmatch(r"unexpected '([\])}])'", problem):
        opening = _OPENING[bracket[1]]
        message = f"`{bracket[1]}` closes no `{opening}`, or a value is missing before it"
        return message, f"remove it, or write what it closes: `{opening}a{bracket[1]}`"
    if problem == "unexpected '|'":
        return "there is no value before `|`", "write the value, then the filter: `{{ name | upper }}`"
    if "expected token 'name', got" in problem:
        return "a name is missing, such as that of a filter after `|`", "name a filter, or remove `|`"
    if "expected token 'in'" in problem:
        return "a loop has a variable, `in` and a list", "write `{% for item in items %}`"
    if sign := re.fullmatch(r"unexpected '(.)'", problem):
        return f"a value is missing before `{sign[1]}`", f"write it, or remove `{sign[1]}`"
    return None


def _expression(problem: str) -> tuple[str, str]:
    if re.search(r"(Expected an expression, got|unexpected) 'end of|expected name or number", problem):
        return "an expression is empty, or its end is missing", "write a whole expression: `{{ name }}`"
    if following := re.search(r"expected token 'end of \w+ \w+', got '(.+)'|unexpected '(.+)' after the", problem):
        return (
            f"`{following[1] or following[2]}` follows a complete expression",
            "join the two with an operator, or write `{{ }}` for each",
        )
    if found := re.search(r"got '(.+)'", problem):
        return f"`{found[1]}` is not expected at its place", _GENERAL
    return problem.replace("unexpected", "out of place:"), _GENERAL
