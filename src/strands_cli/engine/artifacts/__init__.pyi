from strands_cli.engine.artifacts.artifact_rows import WRITTEN as WRITTEN
from strands_cli.engine.artifacts.artifact_rows import keeps_texts as keeps_texts
from strands_cli.engine.artifacts.artifact_rows import row_of_artifacts as row_of_artifacts
from strands_cli.engine.artifacts.artifact_rows import texts_of as texts_of
from strands_cli.engine.artifacts.artifact_rows import written_of as written_of
