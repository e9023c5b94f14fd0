"""What every engine must do. A test module names its engines and inherits this suite.

Nothing here knows how an engine works: only the contract is used, and the traces that commands
leave in a folder outside.
"""

from tests.engines.conformance.logs import Logs
from tests.engines.conformance.once import Gangs, Once
from tests.engines.conformance.running import Commands, Endings
from tests.engines.conformance.stopping import Observing, Restarts, Stopping
from tests.engines.conformance.talking import Conversations


class Conformance(
    Endings, Commands, Once, Gangs, Stopping, Logs, Restarts, Observing, Conversations
):
    """All of it."""
