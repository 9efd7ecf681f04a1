"""What the short form calls the fields of schema 2, where it is another name and nothing more.

Each table has the short name on the left; what it leaves out bears the same name in both forms.
"""

from __future__ import annotations

READ = {
    "text": ("its text", "its full text"),
    "abstract": ("its abstract", "its abstract"),
    "card": ("its reproducibility card", "its reproducibility card"),
    "code": ("the authors' code", "the authors' code"),
    "reviews": ("public reviews", "public reviews"),
    "summaries": ("summaries by others", "summaries by others"),
}
"""What a page says of what was read, and of what was not."""

PASSAGE = {"says": "statement", "at": "locator"}
ANSWER = {"says": "justification", "at": "locator"}
MEASUREMENT = {"says": "meaning", "unit": "unit", "noun": "noun", "step": "step", "range": "range"}
STAGE = {"says": "about"}
REPORTED = {"at": "locator"}
GRADE = {"decisive": "primary"}
MISSES = {"cost": "measure"}
NOT_AUDITED = {"says": "statement", "at": "locator", "why": "reason"}
FINDING = {"says": "statement", "from": "sources"}
CHECKS = {"holds_if": "headline", "also_said": "support", "also_report": "notes"}
"""The lists of a claim's checks."""
