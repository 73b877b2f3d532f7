"""`python -m holter.sidecar MESSAGE`, as a client or launcher starts it."""

import gc

from holter.lean import load_msgspec_alone

if __name__ == "__main__":
    # Of what is loaded at the start nothing is ever garbage: to look for some takes a tenth of the time.
    gc.disable()
    load_msgspec_alone()

    from holter.sidecar.watching import leave, main

    leave(main())
