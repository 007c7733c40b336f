from strands_cli.workers.patience import patiently as patiently
from strands_cli.workers.patience import reached as reached
from strands_cli.workers.planned_runs import Workspace as Workspace
from strands_cli.workers.worker import WorkerChoices as WorkerChoices
from strands_cli.workers.worker import WorkPlace as WorkPlace
from strands_cli.workers.worker import default_name as default_name
from strands_cli.workers.worker import work as work
from strands_cli.workers.worker_events import WorkerEvent as WorkerEvent
