from strands_cli.cli.commands.explain.explained_differences import Explained as Explained
from strands_cli.cli.commands.explain.explained_differences import explained_in as explained_in
from strands_cli.cli.commands.explain.explained_differences import lines_of as lines_of
