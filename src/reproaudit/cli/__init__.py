"""The command line: reads arguments, calls the rooms, shows what they found, and gives exit codes.

0 done; 1 with ``--fail-on`` when it applies; 2 a user's mistake or a bad audit; 3 a technical
failure; 130 interrupted, and resumable. Each command imports what it needs when it is called, so
that the others start at once, and without torch.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn, cast

import typer

from reproaudit import __version__
from reproaudit.cli import auditing, measuring, showing
from reproaudit.cli.options import app
from reproaudit.cli.output import GuardedOutput, say
from reproaudit.errors import OF_THE_EXTRA_RUN, AuditError, TechnicalError, UsageError

__all__ = ["app", "auditing", "main", "measuring", "run_command", "showing"]  # commands register

INTERRUPTED = 130

_ClickException: Any = typer.BadParameter.__mro__[2]
"""Typer has brought its own copy of click since 0.20, and exports of its errors this one only."""


def main() -> NoReturn:
    """Run the program: every error that a user can mend is one line, never a traceback."""
    output = GuardedOutput(sys.stdout)
    errors = GuardedOutput(sys.stderr)
    sys.stdout = cast(Any, output)
    sys.stderr = cast(Any, errors)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends as Ctrl-C does
    code = run_command(sys.argv[1:])
    output.flush()
    if output.fault is not None:
        say(output.fault, stderr=True)
        code = code or TechnicalError.exit_code
    errors.flush()
    sys.exit(code)


def run_command(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    try:
        result = app(list(arguments), standalone_mode=False, prog_name="reproaudit")
        code = int(result) if isinstance(result, int) else 0
        return _interrupted() if code == INTERRUPTED else code  # Typer's own word for Ctrl-C
    except AuditError as error:
        return _refused(str(error), error.exit_code)
    except _ClickException as error:
        if not arguments:  # what was raised is the help
            error.show()
            return UsageError.exit_code
        return _refused(f"{error.format_message()} See 'reproaudit --help'.")
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] not in OF_THE_EXTRA_RUN:
            raise
        return _refused(
            f"{error.name} is not installed, and running experiments needs it. Install the extra, "
            "in a clone of reproaudit: pip install '.[run]'."
        )
    except (KeyboardInterrupt, typer.Abort):
        return _interrupted()


def _refused(why: str, code: int = UsageError.exit_code) -> int:
    say(why, stderr=True, style="red")
    return code


def _interrupted() -> int:
    say("Interrupted. The same command goes on from here.", stderr=True)
    return INTERRUPTED


@app.callback(invoke_without_command=True)
def top(
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> None:
    """Reproducibility audits of machine-learning papers that people run."""
    if version:
        sys.stdout.write(f"reproaudit {__version__}\n")
        raise typer.Exit
