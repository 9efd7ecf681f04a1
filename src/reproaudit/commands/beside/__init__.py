"""All that stands beside a verdict, as its records, its audit and its chain tell it.

Nothing here decides. A verdict is what `reproaudit.judging` says, and these are the sentences in
its history that say how far it carries.
"""
