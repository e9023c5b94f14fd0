"""Where bin/* begin: finds this package wherever it was mounted, then runs the program named."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(here)))

from danlu.steps.main import main  # noqa: E402

sys.exit(main(sys.argv[1], sys.argv[2:]))
