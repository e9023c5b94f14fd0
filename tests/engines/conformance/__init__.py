"""What every engine must do. A test module names its engines and inherits this suite.

Nothing here knows how an engine works or where its nodes are: it uses the contract, a folder that
tasks share with the tests, and the harness, which each engine gives a way to look for processes
(`alive`) and for what the engine itself stored (`stored`).
"""

from tests.engines.conformance.keeping import Keeping
from tests.engines.conformance.logs import Logs
from tests.engines.conformance.once import Gangs, Nodes, Once
from tests.engines.conformance.running import Commands, Endings
from tests.engines.conformance.stopping import Observing, Restarts, Stopping
from tests.engines.conformance.talking import Conversations


class Conformance(
    Endings,
    Commands,
    Once,
    Gangs,
    Nodes,
    Stopping,
    Logs,
    Restarts,
    Observing,
    Conversations,
    Keeping,
):
    """All of it."""
