from strands_cli.addresses.written_places import OpenNetwork as OpenNetwork
from strands_cli.addresses.written_places import Place as Place
from strands_cli.addresses.written_places import admitted as admitted
from strands_cli.addresses.written_places import is_local as is_local
from strands_cli.addresses.written_places import is_public as is_public
from strands_cli.addresses.written_places import leads_to as leads_to
from strands_cli.addresses.written_places import open_network as open_network
