"""Named parts of plugins, such as commands and stores: one door through which the core imports them."""
