from strands_cli.engine.turns.provider_limits import UNLIMITED as UNLIMITED
from strands_cli.engine.turns.provider_limits import ProviderLimit as ProviderLimit
from strands_cli.engine.turns.provider_limits import ProviderLimits as ProviderLimits
from strands_cli.engine.turns.provider_limits import Turns as Turns
from strands_cli.engine.turns.provider_limits import read_provider_limits as read_provider_limits
