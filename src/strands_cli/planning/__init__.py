"""Where spec, catalog and policy meet, once: a plan, or every finding at once."""
