from .api import DEFAULT_FAIL_ON as DEFAULT_FAIL_ON
from .api import Audit as Audit
from .api import AuditError as AuditError
from .api import CardError as CardError
from .api import ClaimAnswer as ClaimAnswer
from .api import ConsentError as ConsentError
from .api import Fault as Fault
from .api import Level as Level
from .api import MeasuredRuns as MeasuredRuns
from .api import Measurements as Measurements
from .api import Origin as Origin
from .api import Outcome as Outcome
from .api import PaperScorecard as PaperScorecard
from .api import Scorecard as Scorecard
from .api import Series as Series
from .api import SpecError as SpecError
from .api import StoreError as StoreError
from .api import TechnicalError as TechnicalError
from .api import UsageError as UsageError
from .api import find_faults as find_faults
from .api import judge_measurements as judge_measurements
from .api import open_audit as open_audit
from .api import open_scorecard as open_scorecard
from .api import paper_slugs as paper_slugs
from .api import run_paper as run_paper
from .api import write_measurements as write_measurements

__version__: str
