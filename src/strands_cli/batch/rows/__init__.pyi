from strands_cli.batch.rows.row_ends import THE_BATCH as THE_BATCH
from strands_cli.batch.rows.row_ends import RowWatch as RowWatch
from strands_cli.batch.rows.row_ends import outcome_in as outcome_in
from strands_cli.batch.rows.row_ends import questions_in as questions_in
from strands_cli.batch.rows.row_ends import spent_in as spent_in
from strands_cli.batch.rows.row_ends import structured_output as structured_output
from strands_cli.batch.rows.row_outcome import RowOutcome as RowOutcome
from strands_cli.batch.rows.row_outcome import Spent as Spent
