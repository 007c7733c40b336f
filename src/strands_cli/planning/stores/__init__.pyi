from strands_cli.planning.stores.store_choice import chosen_place as chosen_place
from strands_cli.planning.stores.store_choice import store_place_of as store_place_of
