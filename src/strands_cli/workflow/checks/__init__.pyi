from strands_cli.workflow.checks.check_memory import CONCURRENT_MEMORY as CONCURRENT_MEMORY
from strands_cli.workflow.checks.check_memory import LOST_CONVERSATION as LOST_CONVERSATION
from strands_cli.workflow.checks.check_pattern import UNUSED_AGENT as UNUSED_AGENT
from strands_cli.workflow.checks.check_workflow import UNDECLARED_VARIABLE as UNDECLARED_VARIABLE
from strands_cli.workflow.checks.check_workflow import check_spec as check_spec
from strands_cli.workflow.checks.schema_checks import check_regex as check_regex
from strands_cli.workflow.checks.schema_checks import check_schema as check_schema
