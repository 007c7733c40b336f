from strands_cli.plugins.scaffold.new_agent import make_agent as make_agent
from strands_cli.plugins.scaffold.new_plugin import SAMPLE as SAMPLE
from strands_cli.plugins.scaffold.new_plugin import NewPlugin as NewPlugin
from strands_cli.plugins.scaffold.new_plugin import make_plugin as make_plugin
from strands_cli.plugins.scaffold.new_workflow import NewWorkflow as NewWorkflow
from strands_cli.plugins.scaffold.new_workflow import make_workflow as make_workflow
from strands_cli.plugins.scaffold.plugin_name import name_plugin as name_plugin
