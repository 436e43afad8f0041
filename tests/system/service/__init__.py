"""The stand-in service of the test hosts: prefill, decode and router as systemd units with serve scripts."""
