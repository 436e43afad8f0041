"""What `systemctl`, `journalctl` and `logger` of the lab run: hand the command line to the daemon, print what comes back.

Run as `python -I -S client.py CONTROL TOOL ARG…`; standard library only, and little of it, so that it starts fast.
"""

import socket
import sys


def main(control: str, words: list[str]) -> int:
    """Exit code of the tool; 1 where no daemon answers."""
    try:
        with open(control, "rb") as stream:  # noqa: PTH123 - pathlib would double the start
            address = stream.read()
        with socket.socket(socket.AF_UNIX) as link:
            link.connect(address)
            link.sendall("\0".join(words).encode("utf-8", "surrogateescape"))
            link.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: link.recv(65536), b""))
    except OSError as error:
        sys.stderr.write(f"Failed to connect to the lab's unit manager: {error.strerror}\n")
        return 1
    head, _, body = answer.partition(b"\n")
    if not body and not head:
        sys.stderr.write("Connection to the lab's unit manager was lost.\n")
        return 1
    code, length = map(int, head.split())
    sys.stdout.buffer.write(body[:length])
    sys.stdout.buffer.flush()
    sys.stderr.buffer.write(body[length:])
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
