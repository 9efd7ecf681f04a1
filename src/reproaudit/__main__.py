"""`python -m reproaudit`, and `reproaudit`: the command line.

It is imported when the command line is started and not before: a process that helps imports this
module anew, and needs none of that.
"""

import gc


def start() -> None:
    """Runs the program."""
    gc.set_threshold(200_000)  # what is imported stays: to look through it time and again is lost
    from reproaudit.cli import main

    try:
        main()
    finally:
        gc.freeze()  # the process ends: its last collection would look through all that goes anyway


if __name__ == "__main__":
    start()
