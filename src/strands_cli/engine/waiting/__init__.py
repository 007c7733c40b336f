"""What a stored run waits for, for people who are elsewhere: questions with commands that answer, and their hook."""
