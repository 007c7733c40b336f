from strands_cli.batch.reading.checked_rows import CheckedRows as CheckedRows
from strands_cli.batch.reading.checked_rows import RowsFile as RowsFile
from strands_cli.batch.reading.checked_rows import read_rows as read_rows
from strands_cli.batch.reading.row_checks import CheckedRow as CheckedRow
from strands_cli.batch.reading.row_source import FORMATS as FORMATS
from strands_cli.batch.reading.row_source import MAX_BYTES as MAX_BYTES
from strands_cli.batch.reading.row_source import MAX_ROWS as MAX_ROWS
