"""One small program a system, each run in a virtual environment of its own by `benchmarks/peers.py`."""
