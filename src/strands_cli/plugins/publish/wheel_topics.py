"""What is in a wheel: the plugins that its entry points name, and nothing that its users should not get."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import PurePosixPath

from strands_cli.catalog.definitions import FILE_NAME
from strands_cli.catalog.distributions import GROUP as TOOLS
from strands_cli.catalog.distributions import normalise
from strands_cli.errors import Code, Finding, Where
from strands_cli.hooks import GROUP as HOOKS
from strands_cli.phrases import counted, first_of
from strands_cli.plugins.publish.project_source import KINDS
from strands_cli.plugins.publish.subject import Subject
from strands_cli.plugins.publish.topic import Topic
from strands_cli.plugins.publish.wheel_file import WheelFile
from strands_cli.protected_names import secret_in
from strands_cli.secrets import credentials_in

WHEEL_CONTENTS = Code(
    "wheel-contents",
    "A wheel lacks what its entry points name, or has files that its users should not get.",
    "Correct what the build puts into the wheel, in pyproject.toml.",
)
SECRET_IN_WHEEL = Code(
    "secret-in-wheel",
    "A wheel has a file for credentials, or a text that has the form of a key.",
    "Remove it from the package, and revoke the key if it is real.",
)

# Folders of a project that no other distribution may install beside the packages.
_SHARED_NAMES = {"test", "tests", "docs", "doc", "examples", "example", "scripts", "src", "build", "dist", "utils"}
_STRAY = (
    *("__pycache__", "*.pyc", ".DS_Store", "*.orig", "*.rej", "*~", "*.swp"),
    *(".git", "node_modules", ".venv", "*.egg-info"),
)
_AT_START = ("*.pth", "sitecustomize*", "usercustomize*")
_KEY_FILES = (".pem", ".key")
_TESTS = {"test", "tests"}
_EXCLUDE = "exclude them from the build"


def wheel_topic(subject: Subject, wheel: WheelFile) -> Topic:
    """Check that the wheel has what is named, and nothing stray."""
    found = [*_missing(subject, wheel), *_stray(subject, wheel)]
    return Topic("wheel", f"{wheel.name}, {counted(len(wheel.files), 'file')}", tuple(found))


def secrets_topic(wheel: WheelFile) -> Topic:
    """Check that no file is one for credentials, and no text looks like a key; a key itself is never shown."""
    found = []
    for path in wheel.files:
        text = (wheel.read(path) or b"").decode("utf-8", "replace")
        lines = [
            Finding(SECRET_IN_WHEEL, f"it has {kind}", Where(f"{wheel.name}/{path}", line))
            for line, kind in credentials_in(text)
        ]
        name = secret_in(PurePosixPath(path).parts)
        if not lines and name and not name.lower().endswith(_KEY_FILES):
            lines = [Finding(SECRET_IN_WHEEL, f"'{name}' is a file for credentials", Where(f"{wheel.name}/{path}"))]
        found += lines
    return Topic("secrets", f"{counted(len(wheel.files), 'file')} looked through", tuple(found))


def _missing(subject: Subject, wheel: WheelFile) -> Iterator[Finding]:
    where = Where(wheel.name)
    for group, found in subject.members.items():
        for name, value in sorted(found.items()):
            fault = _missing_member(group, value, wheel)
            if fault:
                yield Finding(WHEEL_CONTENTS, f"the {KINDS[group]} '{name}' ({value}): {fault}", where)
    lost = {group for group in subject.source.members() if group not in subject.members}
    for group in sorted(lost):
        message = f"pyproject.toml declares entry points in {group}, and the wheel has none"
        yield Finding(WHEEL_CONTENTS, message, where, "build it again: it is older than the project")


def _missing_member(group: str, value: str, wheel: WheelFile) -> str | None:
    module, _, rest = value.partition("[")[0].replace(" ", "").partition(":")
    stem = module.replace(".", "/")
    if group in (TOOLS, HOOKS):
        if not {f"{stem}.py", f"{stem}/__init__.py"} & set(wheel.files) and not _compiled(stem, wheel):
            return f"the wheel has no module {module}"
        top = stem.partition("/")[0]
        if group == TOOLS and not any(path.startswith(f"{top}/") and path.endswith(FILE_NAME) for path in wheel.files):
            return f"the wheel has no {FILE_NAME}, so it is listed without its description"
        return None
    folder = f"{stem}/{rest}".rstrip("/")
    parts = PurePosixPath(rest).parts
    if rest.startswith("/") or ".." in parts:
        return "the folder leaves its package"
    return None if any(path.startswith(f"{folder}/") for path in wheel.files) else f"the wheel has no folder {folder}"


def _compiled(stem: str, wheel: WheelFile) -> bool:
    return any(path.startswith(f"{stem}.") and path.endswith((".so", ".pyd")) for path in wheel.files)


def _stray(subject: Subject, wheel: WheelFile) -> Iterator[Finding]:
    where = Where(wheel.name)
    if "-linux_" in wheel.name:
        message = "its platform is a plain linux_*, which indexes refuse"
        yield Finding(WHEEL_CONTENTS, message, where, "repair it as manylinux: python -m auditwheel repair FILE")
    yield from _stray_tops(subject, wheel, where)
    if stray := [path for path in wheel.files if any(_fits(part, _STRAY) for part in PurePosixPath(path).parts)]:
        message = f"{counted(len(stray), 'file')} of other programs: {first_of(stray, 3)}"
        yield Finding(WHEEL_CONTENTS, message, where, _EXCLUDE, severity="warning")
    if tests := [path for path in wheel.files if _TESTS & set(PurePosixPath(path).parts[1:-1])]:
        message = f"it has tests: {first_of(tests, 2)}"
        yield Finding(WHEEL_CONTENTS, message, where, _EXCLUDE, severity="warning")


def _stray_tops(subject: Subject, wheel: WheelFile, where: Where) -> Iterator[Finding]:
    """Yield what the wheel installs beside the packages of its plugins."""
    values = [value for found in subject.members.values() for value in found.values()]
    named = {value.partition(":")[0].partition(".")[0].strip() for value in values}
    known = {*named, normalise(subject.name).replace("-", "_"), f"{wheel.dist_info.removesuffix('.dist-info')}.data"}
    tops = [name for name in wheel.top_names() if name not in known]
    started = [name for name in tops if _fits(name, _AT_START)]
    shared = [name for name in tops if name in _SHARED_NAMES]
    others = [name for name in tops if name not in {*started, *shared}]
    if started:
        message = f"{first_of(started, 4)} runs whenever Python starts; `strands plugin install` refuses it"
        yield Finding(WHEEL_CONTENTS, message, where, "remove it")
    if shared:
        message = f"it installs {first_of(shared, 4)} beside the packages, where other distributions have theirs, too"
        yield Finding(WHEEL_CONTENTS, message, where, 'write packages = ["src/NAME"], with the folder of the package')
    if others:
        message = f"it installs {first_of(others, 4)}, which no entry point and no name of the distribution explains"
        yield Finding(WHEEL_CONTENTS, message, where, _EXCLUDE, severity="warning")


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)
