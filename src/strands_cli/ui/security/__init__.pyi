from strands_cli.ui.security.admission import Admission as Admission
from strands_cli.ui.security.admission import Session as Session
from strands_cli.ui.security.connections import guarded_protocol as guarded_protocol
from strands_cli.ui.security.request_guard import RequestGuard as RequestGuard
from strands_cli.ui.security.request_guard import form_of as form_of
from strands_cli.ui.security.request_guard import session_of as session_of
