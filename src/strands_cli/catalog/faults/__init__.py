"""What is surely wrong with an entry point, in the same words for every command."""
