from strands_cli.doctor.diagnosis import CORE as CORE
from strands_cli.doctor.diagnosis import Examination as Examination
from strands_cli.doctor.diagnosis import examine as examine
from strands_cli.doctor.os_layers import Found as Found
