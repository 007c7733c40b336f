"""Start one run for each occurrence of a trigger, from cron, systemd, Kubernetes or a CI service."""

__all__ = ["__version__"]

__version__ = "0.1.0"
