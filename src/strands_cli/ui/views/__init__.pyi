from strands_cli.ui.views.inbox import show_inbox as show_inbox
from strands_cli.ui.views.one_run import show_effect as show_effect
from strands_cli.ui.views.one_run import show_run as show_run
from strands_cli.ui.views.run_actions import answer as answer
from strands_cli.ui.views.run_actions import cancel as cancel
from strands_cli.ui.views.run_actions import resume as resume
from strands_cli.ui.views.runs_list import show_runs as show_runs
