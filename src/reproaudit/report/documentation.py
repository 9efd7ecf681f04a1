"""What a paper documents, where pages look for it."""

from reproaudit.audit.documentation import (
    Documentation,
    Documented,
    by_whom,
    documentation_of,
    documented_words,
)

__all__ = ["Documentation", "Documented", "by_whom", "documentation_of", "documented_words"]
