from strands_cli.plugins.index.release_entry import check_phrase as check_phrase
from strands_cli.plugins.index.site import Built as Built
from strands_cli.plugins.index.site import build_site as build_site
from strands_cli.plugins.index.site import summary_lines as summary_lines
