"""Templates: text with `{{ expressions }}`, rendered in a sandbox."""

from strands_cli.workflow.templates.template import Templates, is_template
from strands_cli.workflow.templates.template_errors import Path, TemplateError

__all__ = ["Path", "TemplateError", "Templates", "is_template"]
