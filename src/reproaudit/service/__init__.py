"""What every shell is written over: `Workspace` has a method for each command.

It prints nothing and asks nobody itself: a shell hands in callbacks, and gets models back.
"""
