"""The exporter `plain`."""


class PlainText:
    """Writes the status and the answer of a run."""

    mark = "plain: "

    def export(self, run):
        """Return the text of the file."""
        facts = run.summary().run
        return f"{self.mark}{facts.workflow} is {facts.status}\n{run.response()}\n"


exporter = PlainText()
