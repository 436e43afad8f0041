"""The helper that runs on the GPU host: standard library only, Python 3.9 and later, nothing else of ours.

It arrives over one SSH channel (`runbook.bundle`), answers framed requests one at a time, and is gone when the
channel is. docs/architecture.md, "The wire", lists its calls. Its modules set TYPE_CHECKING themselves, since importing
`typing` would be a sixth of its start; what a rare call needs is imported by that call.
"""
