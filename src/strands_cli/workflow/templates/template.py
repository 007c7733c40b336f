"""Templates and conditions: checks, rendering in a sandbox, and the names that they use."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any

from strands_cli.errors import did_you_mean, suggest
from strands_cli.workflow.templates.plugin_filters import (
    NO_FACTS,
    Facts,
    Path,
    TemplateError,
    TemplateRead,
    UnknownNameError,
)

if TYPE_CHECKING:
    from strands_cli.workflow.templates.plugin_filters import TemplateRead
    from strands_cli.workflow.templates.sandbox import Sandbox


# Syntax errors of a template, in words about the template instead of those of Jinja's parser.


_TAGS = ("if", "elif", "else", "endif", "for", "endfor", "set", "endset", "macro", "endmacro", "filter", "endfilter")
_OF_OTHERS = {
    "??": "write `a | default(b)` for `a ?? b`",
    "&&": "write `and` for `&&`",
    "||": "write `or` for `||`",
    "!": "write `not` for `!`",
    "?": "write `b if a else c` for `a ? b : c`",
}
_GENERAL = "templates are those of Jinja; the filters are in `strands explain supported`"
_OPENING = {")": "(", "]": "[", "}": "{"}
_PAIRS = (("{{", "}}"), ("{%", "%}"), ("{#", "#}"))


def explain_syntax(text: str, problem: str, *, is_condition: bool = False) -> tuple[str, str]:
    """Return the fault of a text that does not compile, and the correction."""
    is_whole = text.count("{{") == 1 and text.strip().startswith("{{") and text.strip().endswith("}}")
    if is_condition and "{{" in text and not is_whole:
        return "a condition is one expression, and this one has `{{` in it", "write it without `{{ }}`: `a == 1`"
    return _unclosed(text) or _block(problem) or _operator(text, problem) or _part(problem) or _expression(problem)


def _unclosed(text: str) -> tuple[str, str] | None:
    if "{{{" in text:
        return "three braces open an expression, which needs two", "write `{{ name }}`"
    for begin, end in _PAIRS:
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
    """Return the fault of a filter, a bracket, a comma or a loop, and the correction."""
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
    if match := re.search(r"got '(.+)'", problem):
        return f"`{match[1]}` is not expected at its place", _GENERAL
    return problem.replace("unexpected", "out of place:"), _GENERAL


# Facts of templates that only print names, as most do: read without importing Jinja's parser.


# A text up to a name with its fields and numbers in braces; everything else is left to the parser.
_PRINTED = re.compile(r"[^{}]*\{\{[ \t]*([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[\d{1,9}\])*)[ \t]*\}\}", re.ASCII)
_PART = re.compile(r"\w+", re.ASCII)
# Words of the language, and names that templates always have.
NOT_PLAIN = frozenset({*keyword.kwlist, "true", "false", "none", "self", "super", "loop", "caller"}) | frozenset(
    {"cycler", "dict", "joiner", "namespace", "range"}
)


def plain_facts(text: str) -> Facts | None:
    """Return the facts of a template that only prints names; None for any other."""
    paths, end = dict[Path, None](), 0
    while (match := _PRINTED.match(text, end)) is not None:
        first, *rest = _PART.findall(match[1])
        if first in NOT_PLAIN:
            return None
        paths[(first, *(int(part) if part[0].isdecimal() else part for part in rest))] = None
        end = match.end()
    if "{" in text[end:] or "}" in text[end:] or not paths:
        return None
    every = frozenset(paths)
    return Facts(
        paths=every,
        reads=tuple(TemplateRead(path, is_called=False, may_be_missing=False) for path in paths),
        mentions=every,
        certain=frozenset(path[:2] for path in paths if len(path) > 1),
        printed=tuple((path, True) for path in paths),
    )


_MARKS = ("{{", "{%", "{#")
_ELSE = "else"
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def is_template(text: str) -> bool:
    """Return whether a text has anything to render."""
    return "{" in text and any(mark in text for mark in _MARKS)


def is_prompt_template(text: str) -> bool:
    """Return whether the prompt of an agent is a template: only with `{{`, since prompts quote code."""
    return "{{" in text


class Templates:
    """Compiles and renders the templates of one workflow; each text is compiled once for all workflows.

    Values from models and tools are names in a template, never templates: a rendered text is not rendered again.
    """

    def __init__(self, *, removes_control: bool = False) -> None:
        """Make the templates.

        Args:
            removes_control: Whether control characters other than tabs and line ends are left out of rendered texts.
        """
        self._removes_control = removes_control

    @property
    def sandbox(self) -> Sandbox:
        """The Jinja environment; made on first use, since workflows without templates need no Jinja."""
        return _sandbox()

    def template_error(self, text: str) -> TemplateError | None:
        """Check a template and return its error, with the line, or None."""
        return self._problem(self._facts_or_error(text))

    def condition_error(self, condition: str) -> TemplateError | None:
        """Check a condition and return its error or None."""
        return self._problem(self._facts_or_error(condition, is_condition=True))

    def render(self, text: str, names: Mapping[str, Any]) -> str:
        """Render a template.

        Args:
            text: The template; text without `{{`, `{%` or `{#` is returned unchanged.
            names: The values by name: plain JSON values, mappings and sequences of them.

        Raises:
            TemplateError: It does not compile, uses an unknown name, or grows beyond the output limit.
        """
        text = _prepare(text)
        rendered: str = text
        if is_template(text):
            rendered = self._explained(lambda: self.sandbox.render(text, names), names)
        return _CONTROL.sub("", rendered) if self._removes_control else rendered

    def render_value(self, value: Any, names: Mapping[str, Any]) -> Any:
        """Render every string inside a JSON value; a string of one lone `{{ expression }}` keeps its type.

        Raises:
            TemplateError: As `render`; also a lone expression whose value has no form in JSON.
        """
        if isinstance(value, str):
            expression = self._lone_expression(value)
            if expression is None:
                return self.render(value, names)
            return self._explained(lambda: self.sandbox.value(expression, names), names)
        if isinstance(value, Mapping):
            return {key: self.render_value(item, names) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.render_value(item, names) for item in value]
        return value

    def evaluate(self, condition: str, names: Mapping[str, Any]) -> bool:
        """Decide a condition: `else`, or an expression with or without `{{ }}`; `a contains b` means `b in a`.

        Raises:
            TemplateError: It does not compile or uses an unknown name.
        """
        expression = _expression_of(condition)
        if expression == _ELSE:
            return True
        return bool(self._explained(lambda: self.sandbox.value(expression, names), names))

    def paths_in(self, text: str, *, is_condition: bool = False) -> frozenset[Path]:
        """Return the names a template or condition uses as paths, `steps[0].response` as `("steps", 0, "response")`.

        Names that it tests with `is defined` or gives a `default` may be missing and are left out.
        """
        return self._facts(text, is_condition=is_condition).paths

    def every_read_in(self, text: str, *, is_condition: bool = False) -> tuple[TemplateRead, ...]:
        """Return all that a template or condition reads, also where it may be missing."""
        return self._facts(text, is_condition=is_condition).reads

    def reads_in(self, text: str, name: str, *, is_condition: bool = False) -> frozenset[Path]:
        """Return every path under a name that a template or condition may read, also where it may be missing."""
        mentions = self._facts(text, is_condition=is_condition).mentions
        return frozenset(path for path in mentions if path[0] == name)

    def names_in(self, text: str) -> set[str]:
        """Return every name that a template may read, also where it may be missing."""
        return {str(path[0]) for path in self._facts(text).mentions}

    def words_in(self, text: str, *, is_condition: bool = False) -> tuple[tuple[Path, str], ...]:
        """Return each path that a template or condition compares with a constant text, with the text."""
        return self._facts(text, is_condition=is_condition).words

    def printed_in(self, text: str) -> tuple[tuple[Path, bool], ...]:
        """Return the paths that a template prints, each with whether it prints them as they are."""
        return self._facts(text).printed

    def assumed_missing(self, text: str, *, is_condition: bool = False) -> tuple[str, ...]:
        """Return the names for which a template or condition gives a `default`, or asks whether they are defined."""
        return self._facts(text, is_condition=is_condition).assumed_missing

    def asked_in(self, text: str) -> frozenset[str]:
        """Return the names that the conditions of `if` in a template use."""
        return self._facts(text).asked_names

    def certain_reads_in(self, text: str, name: str) -> frozenset[Path]:
        """Return the children of a name without which rendering a template always fails."""
        facts = self._facts(text)
        return frozenset(path for path in facts.certain if path[0] == name and name not in facts.sets)

    def is_lone(self, text: str) -> bool:
        """Return whether a template is one expression, whose value it has, and no text."""
        inner = _between_marks(text)
        return inner is not None and self._problem(self.sandbox.facts(inner, is_condition=True)) is None

    def _facts(self, text: str, *, is_condition: bool = False) -> Facts:
        """Return the facts of a template or condition: none for an empty one, or one that does not compile."""
        facts = self._facts_or_error(text, is_condition=is_condition)
        return NO_FACTS if isinstance(facts, TemplateError) else facts

    def _facts_or_error(self, text: str, *, is_condition: bool = False) -> Facts | TemplateError:
        if is_condition:
            expression = _expression_of(text)
            return NO_FACTS if expression == _ELSE else self.sandbox.facts(expression, is_condition=True)
        text = _prepare(text)
        if not is_template(text):
            return NO_FACTS
        return _plain(text) or self.sandbox.facts(text)

    @staticmethod
    def _problem(facts: Facts | TemplateError) -> TemplateError | None:
        return facts if isinstance(facts, TemplateError) else None

    def _lone_expression(self, text: str) -> str | None:
        inner = _between_marks(text)
        try:
            if inner is not None:
                self.sandbox.expression(inner)
        except TemplateError:
            return None
        return inner

    def _explained(self, action: Any, names: Mapping[str, Any]) -> Any:
        """Run a rendering; the error of an unknown name lists the names that exist."""
        try:
            return action()
        except UnknownNameError as error:
            known_names = names if error.known_names is None else error.known_names
            explained = TemplateError(f"{error.message}{_hint(error.name, known_names)}", error.line)
            explained.is_unknown, explained.of_text = True, error.of_text
            raise explained from None


# One text is asked for many things in turn.
_plain = lru_cache(maxsize=64)(plain_facts)


@cache
def _sandbox() -> Sandbox:
    """Return the sandbox of the process: its only state is the compiled templates, which many runs use."""
    from strands_cli.workflow.templates.sandbox import Sandbox

    return Sandbox()


def _hint(name: str, known_names: Iterable[str]) -> str:
    words = sorted(str(word) for word in known_names)
    close = did_you_mean(name, words)
    if close:
        return f"; did you mean {close!r}?"
    return f"; known here: {', '.join(words[:20])}" if words else ""


def _prepare(text: str) -> str:
    """Read `$TRACE`, the older spelling, as the name `TRACE`."""
    if "$TRACE" not in text:
        return text
    if text.strip() == "$TRACE":
        return "{{ TRACE }}"
    return re.sub(r"(\{[{%][^}]*?)\$TRACE\b", r"\1TRACE", text)


def _between_marks(text: str) -> str | None:
    """Return the text between the marks of a template that begins and ends with them."""
    stripped = _prepare(text).strip()
    if not (stripped.startswith("{{") and stripped.endswith("}}")):
        return None
    return stripped[2:-2].strip("-+ \t\r\n") if stripped[2:3] in "-+" else stripped[2:-2].strip()


def _expression_of(condition: str) -> str:
    """Return the bare expression of a condition, `else` as the word itself."""
    text = _prepare(condition).strip()
    if text.startswith("{{") and text.endswith("}}"):
        text = text[2:-2].strip()
    return _ELSE if text.lower() == _ELSE else text
