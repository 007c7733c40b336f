"""Who published a distribution: attestations (PEP 740) of files and of indexes, verified without a network."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
