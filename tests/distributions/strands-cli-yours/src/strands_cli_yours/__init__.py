"""One part of each kind, as the pages show them; the store is taken from its page when the wheel is built."""
