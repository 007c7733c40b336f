from strands_cli.ui.frame.ui_forms import choice as choice
from strands_cli.ui.frame.ui_forms import form as form
from strands_cli.ui.frame.ui_forms import section as section
from strands_cli.ui.frame.ui_forms import table as table
from strands_cli.ui.frame.ui_frame import page_response as page_response
from strands_cli.ui.frame.ui_outcomes import failure as failure
from strands_cli.ui.frame.ui_outcomes import go_to as go_to
from strands_cli.ui.frame.ui_state import Ui as Ui
