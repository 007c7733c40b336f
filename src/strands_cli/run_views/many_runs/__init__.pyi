from strands_cli.run_views.many_runs.run_search import Hit as Hit
from strands_cli.run_views.many_runs.run_search import UnreadRun as UnreadRun
from strands_cli.run_views.many_runs.run_search import search as search
from strands_cli.run_views.many_runs.run_stats import By as By
from strands_cli.run_views.many_runs.run_stats import RunStats as RunStats
from strands_cli.run_views.many_runs.run_stats import Stats as Stats
from strands_cli.run_views.many_runs.run_stats import stats_of as stats_of
