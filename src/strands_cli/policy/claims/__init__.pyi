from strands_cli.policy.claims.resources import Touched as Touched
from strands_cli.policy.claims.resources import touched as touched
from strands_cli.policy.claims.tool_claims import NO_CLAIMS as NO_CLAIMS
from strands_cli.policy.claims.tool_claims import Claims as Claims
from strands_cli.policy.claims.tool_claims import tightened as tightened
