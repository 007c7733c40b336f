from strands_cli.catalog.adoptable.adoptable_tools import MAX_TOOLS as MAX_TOOLS
from strands_cli.catalog.adoptable.adoptable_tools import TOO_MUCH_TO_ADOPT as TOO_MUCH_TO_ADOPT
from strands_cli.catalog.adoptable.adoptable_tools import TWO_OF_ONE_NAME as TWO_OF_ONE_NAME
from strands_cli.catalog.adoptable.adoptable_tools import AdoptableTools as AdoptableTools
from strands_cli.catalog.adoptable.adoptable_tools import find_adoptable as find_adoptable
from strands_cli.catalog.adoptable.owner_search import find_owner as find_owner
from strands_cli.catalog.adoptable.python_files import PythonFile as PythonFile
from strands_cli.catalog.adoptable.python_files import python_files as python_files
