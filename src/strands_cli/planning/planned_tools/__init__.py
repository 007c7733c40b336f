"""The kinds of planned tools, their configuration, and the requests that policy decides on."""
