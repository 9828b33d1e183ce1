"""Entry point of the agent: `serve` on a link, or `supervise <run directory>`."""

from __future__ import annotations

import sys


def main(argv: list[str]) -> int:
    """Run one of the two; the exit status of the process."""
    if argv == ["serve"]:
        from cockpit_node import serve

        return serve.main()
    if len(argv) == 2 and argv[0] == "supervise":
        from cockpit_node import supervise

        return supervise.main(argv[1])
    sys.stderr.write("usage: cockpit_node serve | supervise <run directory>\n")
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
