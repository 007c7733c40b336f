"""The pages of `strands ui` about runs and their questions, one module each: from a request to HTML."""
