"""What a workflow may name beside its own folder: files of its project, and packaged workflows, agents and skills."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
