"""`python -m reproaudit`, and `reproaudit`: the command line.

It is imported when the command line is started and not before: a process that helps imports this
module anew, and needs none of that.
"""


def start() -> None:
    """Runs the program."""
    from reproaudit.cli import main

    main()


if __name__ == "__main__":
    start()
