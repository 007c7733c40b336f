from strands_cli.ui.live.change_hub import ChangeHub as ChangeHub
from strands_cli.ui.live.change_hub import Changes as Changes
from strands_cli.ui.live.event_stream import EventStream as EventStream
