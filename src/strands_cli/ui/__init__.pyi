from strands_cli.ui.local_server import serve as serve
from strands_cli.ui.ui_options import UiOptions as UiOptions
