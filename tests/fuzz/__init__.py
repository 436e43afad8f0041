"""Fuzzers of what reads other people's bytes: `python -m tests.fuzz --target sse --seconds 600`."""
