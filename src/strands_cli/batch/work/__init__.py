"""The work on a batch: rows are run at a rate, and their results written."""
