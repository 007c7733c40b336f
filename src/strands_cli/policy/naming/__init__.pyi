from strands_cli.policy.naming.tool_names import admitted as admitted
from strands_cli.policy.naming.tool_names import is_bare as is_bare
from strands_cli.policy.naming.tool_names import meant_distribution as meant_distribution
from strands_cli.policy.naming.tool_names import named as named
from strands_cli.policy.naming.tool_names import named_any as named_any
from strands_cli.policy.naming.tool_names import names_custom as names_custom
from strands_cli.policy.naming.tool_names import normalised as normalised
