from strands_cli.ui.folder_views.tool_pages import show_tool as show_tool
from strands_cli.ui.folder_views.tool_pages import show_tools as show_tools
from strands_cli.ui.folder_views.workflow_pages import show_workflow as show_workflow
from strands_cli.ui.folder_views.workflow_pages import show_workflows as show_workflows
from strands_cli.ui.folder_views.workflow_start import show_started as show_started
from strands_cli.ui.folder_views.workflow_start import start as start
from strands_cli.ui.folder_views.workflow_start import trust as trust
