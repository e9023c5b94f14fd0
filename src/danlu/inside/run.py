"""Entry point: finds this package where it is mounted, then runs the named program."""

import os
import sys

here = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(os.path.dirname(here)))

from danlu.inside.main import main  # noqa: E402

sys.exit(main(sys.argv[1], sys.argv[2:]))
