"""``python -m btpy``. Python puts the working directory first on ``sys.path``. This module removes it unless it
contains btpy, because other users may have put modules into it.
"""

import os
import sys

if not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
    del sys.path[0]

from btpy.cli.main import main

sys.exit(main())
