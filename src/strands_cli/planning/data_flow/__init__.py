"""What a plan reads and sends: secrets, hosts, telemetry, and text from outside that reaches tools."""

from strands_cli.lazy_face import lazy_face

__getattr__ = lazy_face(__name__, __file__)
