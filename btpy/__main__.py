"""``python -m btpy``."""

import sys

from btpy.cli.main import main

sys.exit(main())
