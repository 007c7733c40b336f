from strands_cli.planning.folders.agent_workflow import INPUT as INPUT
from strands_cli.planning.folders.agent_workflow import AgentWorkflow as AgentWorkflow
from strands_cli.planning.folders.agent_workflow import agent_workflow_of as agent_workflow_of
from strands_cli.planning.folders.agent_workflow import located_in_agent_file as located_in_agent_file
from strands_cli.planning.folders.single_call import call_workflow as call_workflow
from strands_cli.planning.folders.workflow_folder import is_workflow as is_workflow
from strands_cli.planning.folders.workflow_folder import plan_folder as plan_folder
