from strands_cli.plugins.publisher.attestations import attested_by as attested_by
from strands_cli.plugins.publisher.attested import EXTRA as EXTRA
from strands_cli.plugins.publisher.attested import Attested as Attested
from strands_cli.plugins.publisher.attested import unverified as unverified
from strands_cli.plugins.publisher.attested import wrong as wrong
from strands_cli.plugins.publisher.beside import attested_beside as attested_beside
from strands_cli.plugins.publisher.beside import provenance_beside as provenance_beside
