"""The command line. These modules stay light, so that help appears at once; the work itself is in `cli.work`."""

from gpcommittee.cli.app import app, main

__all__ = ["app", "main"]
