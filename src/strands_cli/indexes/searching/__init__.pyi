from strands_cli.indexes.searching.search_file import GROUPS as GROUPS
from strands_cli.indexes.searching.search_file import SearchLine as SearchLine
from strands_cli.indexes.searching.search_file import find_lines as find_lines
from strands_cli.indexes.searching.search_file import find_release_line as find_release_line
from strands_cli.indexes.searching.search_file import owners_of as owners_of
from strands_cli.indexes.searching.search_file import search_text as search_text
