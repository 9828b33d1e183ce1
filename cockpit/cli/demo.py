"""`cockpit demo`: a practice cluster on this machine."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import asdict

import click

from cockpit.cli.say import Failure, note, put, put_json

NO_TORCH = (
    "the practice cluster trains with torch, which is not installed here: "
    "run `pip install 'gpu-cockpit[trainer]'`"
)


@click.command()
@click.option("--nodes", type=click.IntRange(1, 16), default=4, show_default=True)
@click.option(
    "--headless", is_flag=True, help="No screen: run one training job, print one JSON object."
)
@click.option("--steps", type=click.IntRange(1), default=40, show_default=True,
              help="Training steps of the headless job.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The object on one line (with --headless).")
def demo(nodes: int, headless: bool, steps: int, as_json: bool) -> int:
    """Try the cockpit with no GPU: real SSH servers on loopback, real torchrun, simulated GPUs.

    It needs no network and leaves nothing behind; leaving it ends its jobs.
    """
    if importlib.util.find_spec("torch") is None:
        raise Failure(NO_TORCH)
    from cockpit_remote.practice import PracticeError

    try:
        return _headless(nodes, steps) if headless else _screen(nodes)
    except PracticeError as error:
        raise Failure(str(error)) from error


def _headless(nodes: int, steps: int) -> int:
    from cockpit.build.demo import prove

    note("starting a practice cluster ...")
    proof = prove(nodes, steps, note)
    put_json(asdict(proof))
    return 0 if proof.state == "completed" else 1


def _screen(nodes: int) -> int:
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        raise Failure("the screen needs a terminal; `cockpit demo --headless` works without one")
    from cockpit.build.demo import show_demo

    note("starting a practice cluster ...")
    put(show_demo(nodes))
    return 0
