"""What type checkers know of the package; the names are imported lazily at run time."""

from reproaudit.api import (
    DEFAULT_FAIL_ON as DEFAULT_FAIL_ON,
)
from reproaudit.api import (
    Audit as Audit,
)
from reproaudit.api import (
    AuditError as AuditError,
)
from reproaudit.api import (
    CardError as CardError,
)
from reproaudit.api import (
    ClaimModel as ClaimModel,
)
from reproaudit.api import (
    ConsentError as ConsentError,
)
from reproaudit.api import (
    Decision as Decision,
)
from reproaudit.api import (
    EvidenceLevel as EvidenceLevel,
)
from reproaudit.api import (
    Fault as Fault,
)
from reproaudit.api import (
    MeasuredRuns as MeasuredRuns,
)
from reproaudit.api import (
    Measurements as Measurements,
)
from reproaudit.api import (
    Origin as Origin,
)
from reproaudit.api import (
    PaperScorecard as PaperScorecard,
)
from reproaudit.api import (
    Scorecard as Scorecard,
)
from reproaudit.api import (
    Series as Series,
)
from reproaudit.api import (
    SpecError as SpecError,
)
from reproaudit.api import (
    StoreError as StoreError,
)
from reproaudit.api import (
    TechnicalError as TechnicalError,
)
from reproaudit.api import (
    UsageError as UsageError,
)
from reproaudit.api import (
    Verdict as Verdict,
)
from reproaudit.api import (
    find_faults as find_faults,
)
from reproaudit.api import (
    judge_measurements as judge_measurements,
)
from reproaudit.api import (
    open_audit as open_audit,
)
from reproaudit.api import (
    open_scorecard as open_scorecard,
)
from reproaudit.api import (
    paper_slugs as paper_slugs,
)
from reproaudit.api import (
    run_paper as run_paper,
)
from reproaudit.api import (
    write_measurements as write_measurements,
)

__version__: str
__all__: list[str]
