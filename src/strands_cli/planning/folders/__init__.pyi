from strands_cli.planning.folders.agent_workflow import INPUT as INPUT
from strands_cli.planning.folders.agent_workflow import AsWorkflow as AsWorkflow
from strands_cli.planning.folders.agent_workflow import as_workflow as as_workflow
from strands_cli.planning.folders.agent_workflow import at_home as at_home
from strands_cli.planning.folders.workflow_folder import SUFFIXES as SUFFIXES
from strands_cli.planning.folders.workflow_folder import is_workflow as is_workflow
from strands_cli.planning.folders.workflow_folder import plan_folder as plan_folder
