"""The build hook `strands-tools`: wheel and source distribution get a correct manifest, or the build ends."""

from __future__ import annotations

import json
import shutil
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.plugin import hookimpl

from strands_cli.api import InvalidInput
from strands_cli_dev import BuildManifest, build_manifests

OPTIONS = {"import": bool, "tools": dict}
_IMPORT_FIX = (
    "let the hook import it in a process of its own: [tool.hatch.build.hooks.strands-tools] import = true; or commit "
    "the manifest: strands plugin manifest --write"
)


class ManifestHook(BuildHookInterface[Any]):
    """Makes the manifest where none is committed, and compares a committed one with the code.

    Options: `import` allows computed code to be imported, in a child process; `tools` gives for each tool the
    fields that no code states (`examples`, `requires`, `family`, ...), for packages without a committed manifest.
    """

    PLUGIN_NAME = "strands-tools"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Read the project and include its manifests; an editable build is only checked."""
        problems = list(wrong_options(self.config))
        if problems:
            self._abort(problems)
        try:
            manifests = build_manifests(
                Path(self.root),
                imports=self.config.get("import", False),
                import_fix=_IMPORT_FIX,
                authored=self.config.get("tools", {}),
            )
        except InvalidInput as error:
            self._abort([str(finding) for finding in error.findings])
        if problems := [problem for manifest in manifests for problem in manifest.problems]:
            self._abort(problems)
        self._modules = [
            tool["entry"].partition(":")[0] for manifest in manifests for tool in json.loads(manifest.text)["tools"]
        ]
        if version != "editable":
            self._include(manifests, build_data)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the files made for the build, and a wheel without the code of its tools."""
        shutil.rmtree(getattr(self, "_made", ""), ignore_errors=True)
        if self.target_name == "wheel" and version != "editable" and (missing := self._missing_in(artifact_path)):
            Path(artifact_path).unlink()
            fix = (
                f'name the packages: [tool.hatch.build.targets.wheel] packages = ["src/{missing[0].partition(".")[0]}"]'
            )
            self._abort([f"the wheel would have the manifest and not the code: {', '.join(missing)}", f"fix: {fix}"])

    def _missing_in(self, wheel: str) -> list[str]:
        """Return the modules of tools that a wheel does not have."""
        with zipfile.ZipFile(wheel) as archive:
            stems = {name.partition(".")[0] for name in archive.namelist() if not name.endswith(".json")}
        paths = {module: module.replace(".", "/") for module in dict.fromkeys(self._modules)}
        return [module for module, path in paths.items() if not {path, f"{path}/__init__"} & stems]

    def _include(self, manifests: Sequence[BuildManifest], build_data: dict[str, Any]) -> None:
        self._made = tempfile.mkdtemp(prefix="strands-cli-hatch-")
        for number, manifest in enumerate(manifests):
            from_root = manifest.file.relative_to(self.root)
            if manifest.is_committed:
                # A version control system may ignore it; then hatchling would leave it out.
                build_data["artifacts"].append("/" + from_root.as_posix())
                continue
            path_of_manifest = Path(self._made) / f"{number}.json"
            path_of_manifest.write_text(manifest.text, encoding="utf-8", newline="\n")
            path = manifest.path if self.target_name == "wheel" else from_root
            build_data["force_include"][str(path_of_manifest)] = path.as_posix()

    def _abort(self, problems: list[str]) -> NoReturn:
        self.app.abort("\n".join(["strands-tools: the manifest cannot go into the build", *problems]))
        raise SystemExit(1)


def wrong_options(config: Mapping[str, Any]) -> Iterator[str]:
    """Yield the faults of the hook's own configuration."""
    # The options of hatchling itself are in the same table.
    known_options = {
        *OPTIONS,
        "dependencies",
        "enable-by-default",
        "require-runtime-dependencies",
        "require-runtime-features",
    }
    for name, value in config.items():
        if name not in known_options:
            yield f"there is no option '{name}' of strands-tools; there are: {', '.join(OPTIONS)}"
        elif name in OPTIONS and not isinstance(value, OPTIONS[name]):
            yield f"the option '{name}' of strands-tools is {value!r}, not of type {OPTIONS[name].__name__}"


@hookimpl
def hatch_register_build_hook() -> type[ManifestHook]:
    """Register the hook."""
    return ManifestHook
