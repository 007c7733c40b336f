from strands_cli.engine.work_place.last_place import WorkedOn as WorkedOn
from strands_cli.engine.work_place.last_place import place_facts as place_facts
from strands_cli.engine.work_place.last_place import worked_on as worked_on
