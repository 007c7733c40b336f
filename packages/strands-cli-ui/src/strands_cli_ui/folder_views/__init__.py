"""The pages of `strands ui` about the workflows of the folder and the installed tools."""
