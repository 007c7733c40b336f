"""The installed tools, from entry points, manifests and source; imports no plugin."""
