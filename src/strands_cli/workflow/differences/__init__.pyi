from strands_cli.workflow.differences.difference_rows import DIFFERENCES as DIFFERENCES
from strands_cli.workflow.differences.difference_rows import differences_in as differences_in
from strands_cli.workflow.differences.earlier_rows import EARLIER as EARLIER
from strands_cli.workflow.differences.file_parts import Difference as Difference
from strands_cli.workflow.differences.stricter_rows import STRICTER as STRICTER
