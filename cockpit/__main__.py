"""The commands `cockpit` and `gpu-cockpit`."""

from __future__ import annotations

from cockpit.cli import main

if __name__ == "__main__":
    main()

__all__ = ["main"]
