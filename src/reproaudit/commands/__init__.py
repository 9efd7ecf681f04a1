"""The work behind each command of the command line, apart from reading its arguments."""
