"""What a shell that wants to be asked or told nothing gives to the service."""

from __future__ import annotations


def nobody(_question: str) -> bool:
    """Answer no, since nobody is there to be asked."""
    return False


def ignored(_news: object) -> None:
    """Take what a shell does not want to know."""
