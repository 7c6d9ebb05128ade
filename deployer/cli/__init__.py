"""The command line: one file for each command."""

import gc

# Most of a short command's time goes into imports, which make many objects and no garbage. Here, because this comes
# before the first of them.
gc.set_threshold(50_000)
