"""The command line: one module a verb, imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from cockpit import __version__
from cockpit.cli.say import TROUBLES, fail_from, note, wants_json
from cockpit.cli.setting import Setting

VERBS = {
    "init": "Write cockpit.toml from hosts of your SSH configuration.",
    "nodes": "Every node with its GPUs, live.",
    "submit": "Queue a job.",
    "ps": "Jobs, as squeue shows them.",
    "show": "All about one job.",
    "logs": "What the ranks of a job print.",
    "wait": "Wait until jobs are over; ends with the first failing job's code.",
    "cancel": "Stop jobs on all their nodes.",
    "restart": "Stop what is left of a job and start it from its newest checkpoint.",
    "checkpoints": "Checkpoints of a job on the node of rank 0.",
    "demo": "A practice cluster on this machine, with real training and no GPU.",
    "daemon": "The engine without a screen.",
}


ELSEWHERE = {
    "kill": "cancel",
    "list": "ps",
    "ls": "ps",
    "run": "submit",
    "sacct": "ps --all",
    "sbatch": "submit",
    "scancel": "cancel",
    "sinfo": "nodes",
    "squeue": "ps",
    "status": "ps",
    "stop": "cancel",
    "tail": "logs -f",
}
"""What people type who come from elsewhere."""


class _Verbs(click.Group):
    """Knows each verb's one line, so that help imports none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        if cmd_name not in VERBS:
            meant = ELSEWHERE.get(cmd_name)
            near = [meant] if meant else difflib.get_close_matches(cmd_name, VERBS, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"verbs are {', '.join(VERBS)}."
            ctx.fail(f"There is no verb `{cmd_name}`; {hint}")
        module = importlib.import_module(f"cockpit.cli.{cmd_name}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(VERBS.items()))


@click.group(
    cls=_Verbs,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option(
    "-c",
    "--config",
    type=click.Path(path_type=Path),
    envvar="COCKPIT_CONFIG",
    help="cockpit.toml; by default the nearest one upwards, then the user's own.",
)
@click.option(
    "--ssh-config",
    type=click.Path(path_type=Path),
    envvar="COCKPIT_SSH_CONFIG",
    help="SSH configuration instead of ~/.ssh/config.",
)
@click.version_option(__version__, prog_name="cockpit")
@click.pass_context
def cockpit(ctx: click.Context, config: Path | None, ssh_config: Path | None) -> None:
    """See every GPU of your lab, queue jobs, launch torchrun on all nodes, read logs, restart.

    Without a command it opens the screen.
    """
    ctx.obj = Setting(config, ssh_config)
    if ctx.invoked_subcommand is None:
        from cockpit.cli.screen import open_screen

        open_screen(ctx.obj)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with its status; what goes wrong is one sentence."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status: Any = cockpit.main(words, prog_name="cockpit", standalone_mode=False)
    except click.exceptions.Abort:
        note("cockpit: interrupted")
        sys.exit(130)
    except TROUBLES as error:
        fail_from(error, wants_json(words))
    sys.exit(status if isinstance(status, int) else 0)
