"""Text to policy: the rules of one policy file, each remembering its line, or every finding about it."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from strands_cli.errors import Code, Denied, Finding, StrandsCliError, Where, did_you_mean, suggest
from strands_cli.policy.decision import Policy, SwitchedOn
from strands_cli.policy.rule import ACCESSES, CAPABILITIES, EFFECTS, SOURCES, Level, PatternError, Rule, make_rule
from strands_cli.publishers import KINDS, is_publisher_pattern
from strands_cli.system.atomic_file import own_users, who_else_writes
from strands_cli.texts.phrases import shown
from strands_cli.user_files.user_config import UserFileReader, open_user_file, with_code
from strands_cli.versions import is_specifier
from strands_cli.yaml_files.document import Document

if TYPE_CHECKING:
    from strands_cli.policy.standing_budget import StandingBudget

BAD_POLICY = Code(
    "bad-policy",
    "A policy file cannot be read or is not valid; nothing runs.",
    "Correct it: strands explain policy-files.",
    21,
)
UNSAFE_POLICY_FILE = Code(
    "unsafe-policy-file",
    "Other users can change a policy file of the operator or of this person.",
    "Give the file and its folder the right owner, and no write permission for others.",
    21,
)

KEYS = ("version", "rules", "hooks", "locked", "budgets")
HOOK_KEYS = ("name", "may", "required")
RULE_KEYS = (
    *EFFECTS,
    "unless",
    "distribution",
    "version",
    "source",
    "capability",
    *ACCESSES,
    "folder",
    "publisher",
    "reason",
)

# The most names and globs in the rules of a file: each is compared with every tool, at each call.
MOST_NAMES = 2_000

# Everything a reference to a tool can hold, and the marks of a glob.
_TOOLS = re.compile(r"[A-Za-z0-9_.:/*?\[\]!-]+")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9._*?\[\]!-]+")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
_SEE = "see: strands explain policy-files"
_BUDGET = "`{per: day, max_cost_usd: 5}`"


def read_policy(path: Path, level: Level) -> Policy:
    """Read one policy file.

    Raises:
        Denied: it cannot be read, or anything in it is wrong; nothing may run then.
    """
    try:
        document = open_user_file(path, "policy file", BAD_POLICY)
    except StrandsCliError as error:
        raise _refused(path, [with_code(finding, BAD_POLICY) for finding in error.findings]) from error
    reader = _Reader(document, level)
    policy = reader.read()
    if reader.findings:
        raise reader.refusal()
    return policy


def _refused(path: Path, findings: Sequence[Finding]) -> Denied:
    count = "a fault" if len(findings) == 1 else f"{len(findings)} faults"
    return Denied(f"nothing runs: the policy file {path} has {count}", findings=findings)


def check_ownership(path: Path, level: Level) -> list[Finding]:
    """Return a warning for a policy file that other users can change (POSIX only)."""
    trusted = (0,) if level == "managed" else own_users()
    for unsafe_path in (path, path.parent):
        reason = who_else_writes(unsafe_path, trusted)
        if reason is None:
            continue
        label = "the policy file" if unsafe_path == path else "the folder of the policy file"
        message = f"{label} of the level '{level}' does not protect: {reason}"
        fix = f"chmod o-w {shlex.quote(str(unsafe_path))}, and chown it if it is not yours"
        return [Finding(UNSAFE_POLICY_FILE, message, Where(str(unsafe_path)), fix, "warning")]
    return []


class _Reader(UserFileReader):
    """Walks the document once and collects findings on the way."""

    def __init__(self, document: Document, level: Level) -> None:
        super().__init__(document, BAD_POLICY, _SEE)
        self._level = level
        self._names_read = 0

    def refusal(self) -> Denied:
        """Return the error for a policy file with findings."""
        return _refused(Path(self._document.file), self.findings)

    def read(self) -> Policy:
        value = self._mapping(KEYS, "a policy file", "`version: 1` and `rules`")
        if value is None:
            return Policy()
        return Policy(
            rules=tuple(self._rules(value.get("rules", []))),
            hooks=tuple(self._hooks(value.get("hooks", []))),
            locked=self._locked(value.get("locked", False)),
            files=((self._level, self._document.file),),
            budgets=tuple(self._budgets(value["budgets"])) if "budgets" in value else (),
        )

    def _locked(self, value: Any) -> SwitchedOn | None:
        if not isinstance(value, bool):
            self.report("/locked", "`locked` is true or false")
        return SwitchedOn("locked", self._level, self._origin("/locked")) if value is True else None

    def _hooks(self, value: Any) -> Iterator[SwitchedOn]:
        if value and self._level not in ("managed", "user"):
            message = f"`hooks` has no place in a policy file of the level '{self._level}': it would let code run"
            self.report("/hooks", message, "move it to the managed or the user policy file", key=True)
        if not isinstance(value, list):
            self.report("/hooks", "`hooks` is a list of distributions")
            return
        for index, item in enumerate(value):
            entry_pointer = f"/hooks/{index}"
            entry = item if isinstance(item, dict) else {"name": item}
            self.check_keys(entry_pointer, entry, HOOK_KEYS, "a hook plugin")
            name, may, required = entry.get("name"), entry.get("may"), entry.get("required", self._level == "managed")
            if not isinstance(required, bool):
                self.report(f"{entry_pointer}/required", f"`required` is true or false, not {shown(required)}")
            if may not in (None, "allow"):
                self.report(f"{entry_pointer}/may", f"`may` is 'allow', not {may!r}")
            if isinstance(name, str) and _NAME.fullmatch(name):
                yield SwitchedOn(name, self._level, self._origin(entry_pointer), may == "allow", required is not False)
            else:
                self.report(entry_pointer, f"{item!r} is not the name of a distribution, or a mapping with `name`")

    def _budgets(self, value: Any) -> Iterator[StandingBudget]:
        from strands_cli.policy.standing_budget import LIMITS, PERIODS, SCOPES, StandingBudget

        if not isinstance(value, list):
            self.report("/budgets", f"`budgets` is a list of limits over time, such as {_BUDGET}")
            return
        for index, budget in enumerate(value):
            pointer = f"/budgets/{index}"
            if not isinstance(budget, dict):
                self.report(pointer, f"a budget is a mapping such as {_BUDGET}")
                continue
            self.check_keys(pointer, budget, ("per", *SCOPES, *LIMITS), "a budget")
            words = self._words(f"{pointer}/per", budget.get("per"), (*PERIODS, *SCOPES), is_there=True)
            periods = [word for word in words if word in PERIODS]
            if words and len(periods) != 1:
                self.report(f"{pointer}/per", f"`per` names one of {', '.join(PERIODS)}", f"write {_BUDGET}")
            scopes = [scope for scope in SCOPES if scope in budget]
            only = tuple((scope, glob) for scope in scopes for glob in self._globs(f"{pointer}/{scope}", budget[scope]))
            if len(only) > len(scopes):
                self.report(pointer, "a scope of a budget has one glob", "write a budget for each")
            limits = [name for name in LIMITS if name in budget]
            if not limits:
                self.report(pointer, "the budget limits nothing", f"it has one of: {', '.join(LIMITS)}")
            for name in limits:
                limit, at = budget[name], f"{pointer}/{name}"
                if isinstance(limit, bool) or not isinstance(limit, (int, float)) or not 0 < limit < float("inf"):
                    self.report(at, f"`{name}` is a number above 0, not {shown(limit)}", f"write {_BUDGET}")
                elif len(periods) == 1:
                    each = tuple(word for word in words if word in SCOPES)
                    yield StandingBudget(periods[0], name, limit, each, only, self._level, self._origin(at))

    def _rules(self, value: Any) -> Iterator[Rule]:
        if not isinstance(value, list):
            self.report("/rules", "`rules` is a list; write `rules: []` where there are none")
            return
        for index, rule in enumerate(value):
            yield from self._rule(f"/rules/{index}", rule)

    def _rule(self, pointer: str, rule: Any) -> Iterator[Rule]:
        if not isinstance(rule, dict):
            self.report(pointer, "a rule is a mapping such as `deny: file_write`")
            return
        self.check_keys(pointer, rule, RULE_KEYS, "a rule")
        effects = [effect for effect in EFFECTS if effect in rule]
        if not effects and any(did_you_mean(key, RULE_KEYS) in EFFECTS for key in rule if key not in RULE_KEYS):
            return  # the unknown key is a finding
        if len(effects) != 1:
            fault = "both " + " and ".join(effects) if effects else "no effect"
            self.report(pointer, f"the rule has {fault}; it needs one of allow, ask, deny")
            return
        effect = effects[0]
        narrowing = {
            "unless": self._patterns(pointer, "unless", rule),
            "distribution": self._distributions(f"{pointer}/distribution", rule),
            "version": self._specifier(f"{pointer}/version", rule),
            "sources": self._words(f"{pointer}/source", rule.get("source"), SOURCES, "source" in rule),
            "capabilities": self._words(
                f"{pointer}/capability", rule.get("capability"), CAPABILITIES, "capability" in rule
            ),
            "touching": tuple((key, self._globs(f"{pointer}/{key}", rule[key])) for key in ACCESSES if key in rule),
            "folder": self._folder(f"{pointer}/folder", rule, effect),
            "publisher": self._publishers(f"{pointer}/publisher", rule),
            "reason": self._reason(f"{pointer}/reason", rule),
        }
        for text_pointer, pattern in self._texts(f"{pointer}/{effect}", rule[effect], "a tool or a list of tools"):
            try:
                new_rule = make_rule(effect, pattern, self._level, self._origin(text_pointer), **narrowing)
            except PatternError as error:
                self.report(text_pointer, f"the pattern {pattern!r} {error}", _fix_of_pattern(pattern))
                continue
            if self._is_tools(text_pointer, new_rule.tools):
                yield new_rule

    def _patterns(self, pointer: str, key: str, rule: dict[str, Any]) -> tuple[str, ...]:
        if key not in rule:
            return ()
        texts = tuple(self._texts(f"{pointer}/{key}", rule[key], "a tool or a list of tools"))
        for text_pointer, pattern in texts:
            if "(" in pattern:
                self.report(text_pointer, f"`{key}` names whole tools, not arguments: {pattern!r}")
            else:
                self._is_tools(text_pointer, pattern)
        return tuple(pattern for _, pattern in texts)

    def _is_tools(self, pointer: str, pattern: str) -> bool:
        if _TOOLS.fullmatch(pattern):
            return True
        self.report(pointer, f"{pattern!r} cannot be a tool's name or a glob of names", _fix_of_pattern(pattern))
        return False

    def _distributions(self, pointer: str, rule: dict[str, Any]) -> tuple[str, ...]:
        if "distribution" not in rule:
            return ()
        texts = tuple(self._texts(pointer, rule["distribution"], "a distribution, a glob, or a list of them"))
        for text_pointer, name in texts:
            if not _DISTRIBUTION.fullmatch(name):
                self.report(text_pointer, f"{name!r} cannot be the name of a distribution or a glob of names")
        return tuple(name for _, name in texts)

    def _publishers(self, pointer: str, rule: dict[str, Any]) -> tuple[str, ...]:
        if "publisher" not in rule:
            return ()
        texts = tuple(self._texts(pointer, rule["publisher"], "a publisher, a glob, or a list of them"))
        for text_pointer, text in texts:
            if not is_publisher_pattern(text):
                fix = f"write KIND:REPOSITORY, such as 'github:acme/*' or '!github:acme/*'; kinds: {', '.join(KINDS)}"
                self.report(text_pointer, f"{text!r} is not a pattern of publishers", fix)
        return tuple(text for _, text in texts)

    def _globs(self, pointer: str, value: Any) -> tuple[str, ...]:
        return tuple(glob for _, glob in self._texts(pointer, value, "a glob or a list of globs"))

    def _specifier(self, pointer: str, rule: dict[str, Any]) -> str | None:
        if "version" not in rule:
            return None
        text = rule["version"]
        if isinstance(text, str) and is_specifier(text):
            return text
        fix = f"write '=={text}'" if isinstance(text, (int, float)) or str(text)[:1].isdigit() else None
        self.report(pointer, f"{text!r} is not a PEP 440 specifier in quotes, such as '>=1.2,<2'", fix)
        return None

    def _words(self, pointer: str, value: Any, known_words: Sequence[str], is_there: bool) -> tuple[str, ...]:
        if not is_there:
            return ()
        texts = tuple(self._texts(pointer, value, f"one or several of {', '.join(known_words)}"))
        for text_pointer, word in texts:
            if word not in known_words:
                same = next((name for name in known_words if name.lower() == word.lower()), word)
                fix = suggest(same, known_words, f"there are: {', '.join(known_words)}")
                self.report(text_pointer, f"there is no {pointer.rpartition('/')[2]} '{word}'", fix)
        return tuple(word for _, word in texts)

    def _folder(self, pointer: str, rule: dict[str, Any], effect: str) -> str | None:
        if "folder" not in rule:
            return None
        folder = os.path.expanduser(rule["folder"]) if isinstance(rule["folder"], str) else ""  # noqa: PTH111 - a text
        if os.path.isabs(folder) and effect == "allow":  # noqa: PTH117
            return os.path.realpath(folder)
        self.report(pointer, "`folder` is an absolute path, or begins with `~/`, in a rule that allows custom Python")
        return None

    def _reason(self, pointer: str, rule: dict[str, Any]) -> str | None:
        reason = rule.get("reason")
        if "reason" in rule and not (isinstance(reason, str) and reason.strip()):
            self.report(pointer, "`reason` is a text")
            return None
        return " ".join(reason.split()) if reason else None

    def _texts(self, pointer: str, value: Any, kind: str) -> Iterator[tuple[str, str]]:
        """Yield pointer and text of a text or a list of texts, which must not be empty."""
        if isinstance(value, list) and value:
            for index, item in enumerate(value):
                yield from self._texts(f"{pointer}/{index}", item if not isinstance(item, list) else None, kind)
        elif isinstance(value, str) and value.strip():
            self._names_read += 1
            if self._names_read > MOST_NAMES:
                message = f"the rules have more than {MOST_NAMES:,} names and globs"
                self.report(pointer, message, "join names to globs, such as `deny: 'report_*'`")
                raise self.refusal()
            yield pointer, value.strip()
        else:
            self.report(pointer, f"`{pointer.split('/')[3]}` is {kind}, not {shown(value)}")

    def _origin(self, pointer: str) -> str:
        where = self._document.where(pointer)
        return f"{where.file}:{where.line}"


def _fix_of_pattern(pattern: str) -> str:
    """Return the fix for a wrong pattern; the version of a tool has a key of its own."""
    return "narrow the rule with `version`" if "@" in pattern.partition("(")[0] else _SEE
