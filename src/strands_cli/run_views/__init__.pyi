from strands_cli.run_views.open_questions import answer_commands as answer_commands
from strands_cli.run_views.open_questions import command as command
from strands_cli.run_views.open_questions import questions_of as questions_of
from strands_cli.run_views.row_facts import BranchKind as BranchKind
from strands_cli.run_views.row_facts import BranchStatus as BranchStatus
from strands_cli.run_views.run_tree import Branch as Branch
from strands_cli.run_views.run_tree import tree_of as tree_of
