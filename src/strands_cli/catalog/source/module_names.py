"""The values and types that a module's names are surely bound to, also through imports from the same package."""

from __future__ import annotations

import ast
import builtins
from typing import Any

from strands_cli.catalog.source.fixed_names import is_bound_once
from strands_cli.catalog.source.source_module import ReadModule, SourceError, SourceModule, literal, open_module
from strands_cli.catalog.source.static_values import Function

MAX_HOPS = 5


class ModuleNames:
    """The names of one module.

    Args:
        hops: How many modules an imported name is followed through.
    """

    def __init__(self, source: SourceModule, read_module: ReadModule, hops: int = MAX_HOPS) -> None:
        self.source = source
        self._read_module = read_module
        self._hops = hops

    def meaning(self, name: str) -> str | tuple[ast.expr, ModuleNames] | None:
        """Return the full name of what another module made (`typing.Optional`), or what a name is bound to, if sure."""
        node = self.source.definition(name)
        if isinstance(node, ast.Import):
            return next((one.name for one in node.names if (one.asname or one.name) == name), None)
        if isinstance(node, ast.ImportFrom):
            target, original = self.source.imported(node, name)
            if target is None:
                return None
            return self._elsewhere(target, original) if self._is_own(target) else f"{target}.{original}"
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return (node.value, self) if node.value is not None and is_bound_once(self.source.tree, name) else None
        return name if node is None and hasattr(builtins, name) and not self.source.rebinds(name) else None

    def function(self, name: str) -> tuple[Function, ModuleNames] | None:
        """Return the function that a name is bound to, with the names of its module; None if that is not sure."""
        node = self.source.definition(name)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and not node.decorator_list:
            return (node, self) if self.source.binds_once(name) else None
        if not isinstance(node, ast.ImportFrom):
            return None
        target, original = self.source.imported(node, name)
        source = self._open(target) if target and self._is_own(target) else None
        return ModuleNames(source, self._read_module, self._hops - 1).function(original) if source else None

    def value(self, node: ast.expr) -> Any:
        """Return the value of a literal, or of a name that is bound to one, as JSON has it.

        Raises:
            ValueError: It is code.
        """
        if isinstance(node, ast.Name):
            meaning = self.meaning(node.id)
            # Code may change a list or a dict that has a name.
            if isinstance(meaning, tuple) and isinstance(meaning[0], (ast.Constant, ast.Name, ast.UnaryOp)):
                inner, names = meaning
                return names.value(inner)
        if isinstance(node, ast.Constant) and node.value is None:
            return None
        value = literal(node)
        if value is None:
            raise ValueError("only running the code shows its value")
        return list(value) if isinstance(value, tuple) else value

    def _is_own(self, module: str) -> bool:
        return module.partition(".")[0] == self.source.module.partition(".")[0]

    def _elsewhere(self, module: str, name: str) -> str | tuple[ast.expr, ModuleNames] | None:
        source = self._open(module)
        return ModuleNames(source, self._read_module, self._hops - 1).meaning(name) if source else None

    def _open(self, module: str) -> SourceModule | None:
        try:
            return open_module(module, self._read_module) if self._hops else None
        except SourceError:
            return None
