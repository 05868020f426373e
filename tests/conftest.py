"""What every test may rely on."""

import signal

# A shell that starts the tests in the background makes them ignore Ctrl-C, and their children too; some of
# them test what Ctrl-C does.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
