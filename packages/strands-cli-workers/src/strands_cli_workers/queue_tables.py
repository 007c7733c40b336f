"""Queries on the queues in SQL: numbers over many runs, which no call of DBOS counts.

`{schema}` is the name of the schema, `{runs}` that of the journals; `QueueDatabase.rows` replaces them.
"""

from __future__ import annotations

# The name of our application among those that may share DBOS's tables, and of the two workflows that it has.
APPLICATION = "strands-cli"
DISPATCH, FIRE = "strands_dispatch", "strands_fire"

# The number to lock for a worker, by its id: `{}` is its place.
LOCK = "hashtextextended('strands-worker {{schema}} ' || {}, 0)"
# Whether the lock of an id is held, without taking it.
_IS_HELD = f"""EXISTS (
  SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database AND datname = current_database()
  WHERE locktype = 'advisory' AND objsubid = 1 AND granted
    AND ((classid::bigint << 32) | objid::bigint) = {LOCK.format("id")})"""
TRY_LOCK = f"SELECT pg_try_advisory_lock({LOCK.format('%s')})"
# Makes way for another process that does the same work.
TRY_WORK = f"SELECT pg_try_advisory_xact_lock({LOCK.format('%s')})"

TABLES = """
CREATE TABLE IF NOT EXISTS {schema}.strands_workers (
  id text PRIMARY KEY,
  name text NOT NULL,
  machine text NOT NULL,
  pid integer NOT NULL,
  queues text[] NOT NULL,
  concurrency integer NOT NULL,
  version text NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now(),
  draining boolean NOT NULL DEFAULT false
);
ALTER TABLE {schema}.strands_workers ADD COLUMN IF NOT EXISTS beat_at timestamptz NOT NULL DEFAULT now();
ALTER TABLE {schema}.strands_workers ADD COLUMN IF NOT EXISTS frozen_after_s float8 NOT NULL DEFAULT 'infinity';
CREATE TABLE IF NOT EXISTS {schema}.strands_turns (work text PRIMARY KEY, at timestamptz NOT NULL)"""
FORMAT = """
SELECT to_regclass('{schema}.strands_workers') IS NOT NULL AND to_regclass('{schema}.workflow_status') IS NOT NULL,
  EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('{schema}.strands_workers') AND attname = 'beat_at')"""

_OF_RUNS = f"FROM {{schema}}.workflow_status WHERE name = '{DISPATCH}' AND application_name = '{APPLICATION}'"

LIVE = f"""
SELECT DISTINCT attributes->>'run_id' {_OF_RUNS}
  AND status IN ('ENQUEUED', 'DELAYED', 'PENDING') AND attributes->>'run_id' = ANY(%s)"""
TICKETS_OF = f"""
SELECT workflow_uuid, status, (attributes->>'attempt')::bigint {_OF_RUNS}
  AND attributes @> jsonb_build_object('run_id', %s::text)"""
NUMBERS = f"""
SELECT coalesce(queue_name, ''), status, coalesce(application_version, ''), count(*),
  extract(epoch FROM now()) - min(created_at) / 1000.0
{_OF_RUNS} AND status IN ('ENQUEUED', 'DELAYED', 'PENDING') GROUP BY 1, 2, 3"""
QUEUES = f"""
SELECT name, concurrency, rate_limit_max, rate_limit_period_sec FROM {{schema}}.queues
WHERE application_name = '{APPLICATION}' ORDER BY name"""
REFUSED = f"""
SELECT attributes {_OF_RUNS} AND status IN ('ENQUEUED', 'DELAYED') AND attributes->'refusals' <> '{{}}'::jsonb
ORDER BY created_at DESC LIMIT %s"""
SCHEDULES = f"""
SELECT schedule_name, schedule, coalesce(cron_timezone, 'UTC'), coalesce(last_fired_at, '')
FROM {{schema}}.workflow_schedules WHERE workflow_name = '{FIRE}' ORDER BY 1"""
# A worker without runs and lock has left nothing behind.
WORKERS = f"""
SELECT id, name, machine, pid, queues, concurrency, version, extract(epoch FROM started_at)::float8, {_IS_HELD},
  greatest(0, extract(epoch FROM now() - beat_at))::float8, frozen_after_s, draining, ARRAY(
    SELECT attributes->>'run_id' {_OF_RUNS} AND status = 'PENDING' AND executor_id = worker.id ORDER BY 1)
FROM {{schema}}.strands_workers AS worker ORDER BY started_at, id"""
# Who holds runs or has a row, and no lock: its process is gone. `FIRE` counts too.
GONE = f"""
SELECT id FROM (
  SELECT id FROM {{schema}}.strands_workers
  UNION
  SELECT executor_id FROM {{schema}}.workflow_status WHERE status = 'PENDING' AND application_name = '{APPLICATION}'
) AS known WHERE id IS NOT NULL AND NOT {_IS_HELD}"""
# Who has its lock and has not shown for too long that it works: a machine that sleeps, a process that hangs.
FROZEN = f"""
SELECT id FROM {{schema}}.strands_workers
WHERE extract(epoch FROM now() - beat_at) > frozen_after_s AND {_IS_HELD}"""
# Ends the connections of such a worker: the one with its lock, and those with the locks of its runs. Its later writes
# fail, and its fence is an old one.
CUT = f"""
SELECT coalesce(bool_and(pg_terminate_backend(pid)), true) FROM (
  SELECT DISTINCT pid FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database
  WHERE datname = current_database() AND locktype = 'advisory' AND objsubid = 1 AND granted AND pid <> pg_backend_pid()
    AND ((classid::bigint << 32) | objid::bigint) IN (
      SELECT {LOCK.format("id")} FROM {{schema}}.strands_workers WHERE id = %s
      UNION SELECT lock FROM {{runs}}.runs WHERE id = ANY(%s))
) AS held"""
BEAT = """
UPDATE {schema}.strands_workers SET beat_at = now() - make_interval(secs => %s), frozen_after_s = %s WHERE id = %s"""
LEFT_BEHIND = f"""
SELECT workflow_uuid, coalesce(queue_name, ''), attributes->>'run_id' FROM {{schema}}.workflow_status
WHERE status = 'PENDING' AND executor_id = %s AND application_name = '{APPLICATION}'"""
ENTER_WORKER = """
INSERT INTO {schema}.strands_workers (id, name, machine, pid, queues, concurrency, version)
VALUES (%s, %s, %s, %s, %s, %s, %s)"""
TAKE_TURN = """
INSERT INTO {schema}.strands_turns AS turn VALUES (%s, clock_timestamp())
ON CONFLICT (work) DO UPDATE SET at = clock_timestamp()
WHERE turn.at < clock_timestamp() - make_interval(secs => %s) RETURNING 1"""
SHOW_DRAINING = "UPDATE {schema}.strands_workers SET draining = true WHERE id = %s"
TAKEN = f"""
SELECT 1 FROM {{schema}}.workflow_status
WHERE status = 'PENDING' AND executor_id = %s AND application_name = '{APPLICATION}' LIMIT 1"""
FORGET_WORKER = "DELETE FROM {schema}.strands_workers WHERE id = %s"
# Tickets for workers of older versions, of which none is alive.
OUTDATED = f"""
SELECT workflow_uuid, attributes {_OF_RUNS} AND status IN ('ENQUEUED', 'DELAYED')
  AND application_version ~ '^[0-9]+$' AND application_version::int < %s
  AND application_version NOT IN (SELECT version FROM {{schema}}.strands_workers WHERE {_IS_HELD})
ORDER BY created_at LIMIT 100"""
PENDING = f"""
SELECT count(*) {_OF_RUNS} AND (
  (status = 'PENDING' AND executor_id = %s)
  OR (status = 'ENQUEUED' AND queue_name = ANY(%s) AND coalesce(application_version, %s) = %s))"""
# A finished workflow is kept as long as the longest period of a limit, which counts starts.
DONE = f"""
SELECT workflow_uuid FROM {{schema}}.workflow_status
WHERE application_name = '{APPLICATION}' AND completed_at IS NOT NULL AND completed_at < (extract(epoch FROM now())
  - greatest(3600, (SELECT max(rate_limit_period_sec) FROM {{schema}}.queues))) * 1000 LIMIT 1000"""
