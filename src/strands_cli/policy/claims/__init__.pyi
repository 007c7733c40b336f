from strands_cli.policy.claims.earlier_words import in_present_words as in_present_words
from strands_cli.policy.claims.earlier_words import renamed as renamed
from strands_cli.policy.claims.earlier_words import word_faults as word_faults
from strands_cli.policy.claims.resources import Touched as Touched
from strands_cli.policy.claims.resources import touched as touched
from strands_cli.policy.claims.tool_claims import NO_CLAIMS as NO_CLAIMS
from strands_cli.policy.claims.tool_claims import Claims as Claims
from strands_cli.policy.claims.tool_claims import tightened as tightened
