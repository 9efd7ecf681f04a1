"""`python -m reproaudit`: the command line."""

from reproaudit.cli import main

if __name__ == "__main__":
    main()
