"""The object of this distribution's entry points: it opens, makes, checks and migrates a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from strands_cli.api import StorePlace

if TYPE_CHECKING:
    from strands_cli.api import StoreOpener
    from strands_cli_postgres.postgres_store import PostgresStore

# Postgres's client is imported when a store is opened.


class PostgresOpener:
    """See `StoreOpener`."""

    def open(self, place: StorePlace, address: str) -> PostgresStore:
        """Open a store that `init` has made."""
        from strands_cli_postgres.address import target_of
        from strands_cli_postgres.database import shared_database
        from strands_cli_postgres.postgres_store import PostgresStore

        return PostgresStore(shared_database(place, target_of(place, address)))

    def init(self, place: StorePlace, address: str) -> list[str]:
        """Make the schema and its tables, or their missing parts."""
        from strands_cli_postgres.address import target_of
        from strands_cli_postgres.schema import make_schema

        return make_schema(place, target_of(place, address))

    def check(self, place: StorePlace, address: str) -> list[str]:
        """Return facts of the server, the schema and the role's rights."""
        from strands_cli_postgres.address import target_of
        from strands_cli_postgres.schema import checked_schema

        return checked_schema(place, target_of(place, address))

    def migrate(self, place: StorePlace, address: str) -> list[str]:
        """Bring the tables of an older version to this one."""
        from strands_cli_postgres.address import target_of
        from strands_cli_postgres.schema import migrated_schema

        return migrated_schema(place, target_of(place, address))


store: StoreOpener = PostgresOpener()
