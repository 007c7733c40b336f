"""The frame of the pages of `strands ui`: links to each other, the one script, forms, and the policy of a page."""
