from strands_cli.tools.permission_policy import PermissionPolicy as PermissionPolicy
from strands_cli.tools.property_names import PropertyNames as PropertyNames
from strands_cli.tools.schema_for_provider import offered_schema as offered_schema
from strands_cli.tools.schema_for_provider import offered_specs as offered_specs
from strands_cli.tools.timeouts import GRACE_S as GRACE_S
from strands_cli.tools.timeouts import bounded as bounded
from strands_cli.tools.tls_context import library_of as library_of
from strands_cli.tools.tls_context import tls_context_for as tls_context_for
