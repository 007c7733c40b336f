from strands_cli.run_views.files.fetched_artifacts import RunArtifacts as RunArtifacts
from strands_cli.run_views.files.fetched_artifacts import StoredArtifact as StoredArtifact
from strands_cli.run_views.files.fetched_artifacts import artifacts_of as artifacts_of
from strands_cli.run_views.files.fetched_artifacts import write_artifacts as write_artifacts
