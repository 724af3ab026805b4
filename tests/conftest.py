"""Settings of every test process."""

from __future__ import annotations

import os

# Two workers with a thread for each core wait for each other most of the time; torch reads this when it is imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")
