"""What every shell is written over: a function for each command, and the `Workspace` it is given.

Nothing in here prints, or knows a terminal, a browser or pytest.
"""
