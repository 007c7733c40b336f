"""Installation of plugins: preview, download, verify, list."""
