"""What plugins add by a name, such as commands and stores: one door through which the core imports it."""
