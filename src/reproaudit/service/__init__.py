"""The work behind each command, apart from reading its arguments."""
