"""Without Postgres's client, there is nothing to collect: only `nox -s postgres` installs it."""

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("psycopg") else ["test_*.py"]
