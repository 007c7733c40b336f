"""Install plugins: preview, fetch, verify, list."""
