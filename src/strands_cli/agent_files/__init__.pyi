from strands_cli.agent_files.agent_checks import check_atomic as check_atomic
from strands_cli.agent_files.agent_checks import load_valid as load_valid
from strands_cli.agent_files.agent_runs import plan_atomic as plan_atomic
from strands_cli.agent_files.agent_runs import run_test as run_test
