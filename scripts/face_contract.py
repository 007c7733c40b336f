"""An import contract: a package is imported through its face (the names of its `__init__`), not through its modules."""

from __future__ import annotations

from typing import Any

import grimp
from importlinter import Contract, ContractCheck, fields, output


class FaceContract(Contract):
    """Forbid imports of a package's modules from outside the package.

    Configuration options:
        - public_modules: Modules that are public by themselves, and so may be imported from anywhere. (Optional.)
    """

    type_name = "faces"
    public_modules = fields.SetField(subfield=fields.StringField(), required=False)

    def check(self, graph: grimp.ImportGraph, verbose: bool) -> ContractCheck:
        """Return every import that goes around a face, with its line."""
        around = sorted(self._imports_around(graph))
        return ContractCheck(kept=not around, metadata={"around": around})

    def _imports_around(self, graph: grimp.ImportGraph) -> set[tuple[str, str, int]]:
        root = {name for name in graph.modules if "." not in name}
        packages = {name.rpartition(".")[0] for name in graph.modules if "." in name} - root
        public: Any = self.public_modules or set()
        return {
            (importer, imported, detail["line_number"])
            for imported in graph.modules - packages - public
            if (package := imported.rpartition(".")[0]) in packages
            for importer in graph.find_modules_that_directly_import(imported)
            if importer != package and not importer.startswith(f"{package}.")
            for detail in graph.get_import_details(importer=importer, imported=imported)
        }

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print each import, and the face that takes its place."""
        for importer, imported, line in check.metadata["around"]:
            face = imported.rpartition(".")[0]
            output.print_error(f"{importer}:{line} imports {imported}: import the name from {face}", bold=False)
        output.new_line()
