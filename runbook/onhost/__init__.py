"""The helper that runs on the GPU host: standard library only, Python 3.9 and later, nothing else of ours.

It arrives over one SSH channel (`runbook.bundle`), answers framed requests one at a time, and is gone when the
channel is. docs/architecture.md, "The wire", lists its calls.
"""
