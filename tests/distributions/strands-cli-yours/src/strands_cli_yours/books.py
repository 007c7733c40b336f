"""The command `books`."""

import json
from typing import Annotated

import typer

from strands_cli.api import DEFAULT_STORE, Runs, StoreOptions, print_result, with_run_options


@with_run_options()
def books(
    where: StoreOptions = DEFAULT_STORE,
    as_json: Annotated[bool, typer.Option("--json", help="Print the number as JSON.")] = False,
) -> None:
    """Count the runs of a store.

    Example: strands books --store shelf:///srv/runs.db
    """
    with Runs(where.place) as runs:
        number = len(runs.all()[0])
    print_result(json.dumps({"books": number}) if as_json else f"{number} books")
