"""What the names of columns, keys, files and folders say: steps, seeds, runs, tags and settings.

Every reader of a format asks here; what a mapping states goes before it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

STEP_NAMES = (
    "step", "global_step", "_step", "trainer/global_step", "training_iteration", "iteration",
    "iter", "train_step", "total_timesteps", "time/total_timesteps", "timesteps", "epoch",
)  # fmt: skip
"""Columns that count steps, the likelier first; capital letters make no difference."""
_COUNTERS = {
    *(name.strip("_").removesuffix("s") for name in STEP_NAMES),
    *("x", "t", "timestep", "env_step", "update", "round", "episode", "frame"),
}
TAG_NAMES = (
    "tag", "metric", "metric.name", "metricname", "name", "key", "variable", "measurement",
    "quantity",
)  # fmt: skip
"""Columns of a long table that name the quantity of each row."""
ARM_LIKE = re.compile(
    r"(model|method|algo(rithm)?|agent|variant|approach|system|pretrained)(_?(name|id|path|sanitized))*"
)
"""Names of settings whose values name arms: `model_name`, `method`."""
RUN_NAMES = ("run_id", "run_uuid", "run.hash", "run_name", "run.name", "run")
CONTEXT = "metric.context."
"""What the columns begin with that tell numbers of one name apart, as Aim writes them."""
CONTEXT_NAMES = frozenset({"context", "runcontext", "run_context", "split", "subset", "phase"})
"""Columns of a long table that tell numbers apart where a name has several."""
SEED_LIKE = re.compile(r"(?i)seed|trial|fold|repeat|repetition|replicate|split|^run$")
"""In the names of columns that may tell runs apart as seeds do."""
SETTING_PREFIXES = re.compile(
    r"(run\.)?(args|hparams|params|(hyper_?)?parameters|config|cfg)[./]|(params?|user_attrs)_", re.I
)
_SETTINGS_BELOW = re.compile(
    r"(?:^|[./])(?:\w+_)?(?:args|hparams|params|(?:hyper_?)?parameters|config|cfg)[./]", re.I
)
"""Objects of what a run was started with, wherever they stand: ``eval.generate_config.``."""
_OWNER = re.compile(
    r"(?:^|\.)(?:trainer|optim(?:izer)?|model|settings|setup|options|opts|flags)\.[^./]+$", re.I
)
"""A name in an object that may hold settings beside others: ``trainer.lr``."""
UNUSED_NAMES = frozenset({"", "Unnamed: 0", "Wall time"})  # columns that hold row numbers or times
SEED_NAMES = (
    "seed", "random_seed", "rng_seed", "manual_seed", "global_seed", "random_state",
    "seed_everything",
)  # fmt: skip
_STARTED_WITH = re.compile(
    r"(base_|init(ial)?_|peak_)?(lr|learning_rate)|((per_device_)?train_)?batch_size|weight_decay"
    r"|momentum|dropout(_rate)?|label_smoothing|hidden_(size|dim|units)|(n|num)_(layers|heads)"
    r"|warmup_(steps|ratio|epochs)"
)
"""Names of numbers that a run is started with, which its logger may write beside its results."""
_STATUS = re.compile(r"((run|job|trial|task|exit|final|experiment)_)?(status|state)")
_TRUTH = re.compile(r"(?:is_|has_|was_)?(failed|crashed|diverged|completed?|finished)")
_ERROR = re.compile(r"(run_)?(error|exception|traceback)(_(message|msg|type|text))?")
_STOP_REASON = re.compile(r"(stop|stopping|end|termination)_reason")
_EXIT_CODE = re.compile(r"(exit|return)_?code|exit_status")
_GOES_WRONG = re.compile(
    r"(?i)fail|err|crash|kill|abort|preempt|evict|timeout|timed|oom|memory|cancel|interrupt|stop"
    r"|terminat|dead|died|lost|run|pend|queue|wait|start|progress|train|creat|sched|submit|unknown"
    r"|partial|incomplete|unfinished|^active|pause|except|invalid|broken|suspend|resum|not|^(r|pd|f|to|ca|nf|pr)$"
)
_DIVERGED = re.compile(r"diverged|divergence|(loss )?((is|was|became) )?nan( (in )?loss)?")
_ENDED = re.compile(
    r"|finished|completed?|success|succeeded|done|ok|not (failed|crashed|diverged)"
    r"|early ?stop(ped|ping)?|stopped early|(max(imum)? )?(epochs|steps|iterations)( reached)?"
)
"""What a status says of a run that came to its end, in small letters with blanks."""
MADE_NAMES = frozenset({"created", "created_at", "start_time"})
"""Columns that say when a run was made, in a table of runs."""
_ITEMS = "doc|question|example|prompt|instance|problem|sample"
ITEM_NAMES = re.compile(rf"({_ITEMS})_?(id|idx|index)")
"""Columns that tell the questions apart that one run answered."""
_COUNTED_ITEMS = re.compile(rf"({_ITEMS}|task|case|item)_?(id|idx|index)")
"""What a mapping may call the column of steps where they are those of no training."""
SEED_COUNTS = frozenset({"seeds", "n_seeds", "num_seeds", "seed_list"})
"""What says how many seeds there are, or which."""
_SUMS = ("mean", "avg", "average", "median", "min", "max", "total", "all", "sum")
SPREADS = frozenset({"std", "stdev", "stddev", "sd", "sem", "stderr", "var"})
SUMMARIES = frozenset((*_SUMS, *SPREADS))
"""Words in the place of a seed in a row that sums others up."""
SUMMED = SUMMARIES | {"summary", "aggregate", "aggregated", "aggregates", "overall", "statistics"}
"""Names of objects whose numbers sum runs up."""
_STEP_BEFORE = r"(?:^|[^a-z])(?:step|epoch|iter(?:ation)?|checkpoint|ckpt)[=_\-]?"
STEP_IN_NAME = re.compile(rf"{_STEP_BEFORE}(\d{{1,15}})(?![0-9])", re.IGNORECASE)
_GENERIC = {"value", "values", "score", "scores", "result", "results", "metric"}
"""Words for whatever number."""
LISTED = frozenset({"values", "scores", "runs", "per_seed", "per_run", "raw", "all"})
"""What the numbers of all runs are called beside their mean."""
CLOCK = re.compile(
    r"(\d{4}[-/.]\d\d[-/.]\d\d|\d\d?[./]\d\d?[./]\d{4})([T _].*)?"
    r"|(-?\d+ days? )?\d+:\d\d(:\d\d(\.\d+)?)?"
)
"""A date, a moment or a duration."""
SEED_IN_NAME = re.compile(r"(?:^|[^a-z])seed[=_\-: ]?(\d{1,10})(?![0-9])", re.IGNORECASE)
LIKE_SEED_IN_NAME = re.compile(
    r"(?i)(?:^|[^a-z0-9])(s|run|rep|repeat|replicate|trial|fold)[=_-]?(\d{1,10})(?![0-9a-z])"
)
_OWN = re.compile(
    r"(^|[._])((random_?)?seeds?|random_state|run[_.]?(id|name|uuid|hash)|job_?id|task_id|trial_id|"
    r"(exp|experiment|eval|evaluation)_?(id|name|tag)|(output|log|logging|save|work|checkpoint|ckpt|results?)_?"
    r"(dir|path|folder|file|name)|out|output|logs?|timestamp|time|date|start_time|end_time|"
    r"(created|started|completed|finished|ended|updated)(_at)?|runtime|host|hostname|node_ip|user|port|pid|device|device_id|gpu_ids?|(local|global|node)_rank)"
    r"($|[._])|^(name|id|uuid)$| at 0x[0-9a-f]"
)
"""Names of what is each run's own affair: its seed, where it wrote, when it ran, its name, and an
object in memory."""
_IDS = re.compile(r"(?:^|[._])(?:id|sha|hash|uuid|guid)$|(?:Id|Key|Hash|Sha|Uuid)$")
_HASH = re.compile(r"(?=[a-f-]*\d)(?=[\d-]*[a-f])[0-9a-f-]{7,}")
_LAST_STEP = re.compile(
    r"(max_|num_|n_|total_|train_|training_|num_train_|num_training_)?steps"
    r"|max_iters|(num_)?iterations"
)
"""Names of the number of steps in configurations."""
_LAST_EPOCH = re.compile(r"(max_|num_|n_|total_|train_|training_|num_train_)?epochs")


def says_percent(name: str) -> bool:
    """Return True if a number is called as one in per cent: ``Test Accuracy (%)``, acc_pct."""
    return "%" in name or not words_of_name(name).isdisjoint(("pct", "percent", "percentage"))


def names_seed(parts: Iterable[str]) -> bool:
    """Return True if a folder or a file is called as what has one seed."""
    return any(SEED_IN_NAME.search(part) or LIKE_SEED_IN_NAME.search(part) for part in parts)


def likely_seed(parts: Iterable[str]) -> tuple[str, int] | None:
    """Return the word and the number after it in names such as ``ours_s3``, if it is one number."""
    found = [matched for part in parts for matched in LIKE_SEED_IN_NAME.finditer(part)]
    numbers = {int(matched[2]) for matched in found}
    return (found[-1][1], numbers.pop()) if len(numbers) == 1 else None


def normal(name: str) -> str:
    """Return a name as it is compared: ``--learning-rate`` is learning_rate."""
    return name.lower().replace("-", "_").lstrip("_")


def is_setting_name(name: str) -> bool:
    """Return True if a name stands in an object of what a run was started with."""
    return bool(SETTING_PREFIXES.match(name) or _SETTINGS_BELOW.search(name))


def is_set_below(name: str, settings: Collection[str]) -> bool:
    """Return True for a setting in an object that holds such: ``trainer.lr``, not ``train.lr``.

    Args:
        settings: what the audit's settings are called.
    """
    own = last_part(name)
    return _OWNER.search(name) is not None and (own in settings or is_started_with(own))


def is_status_name(name: str) -> bool:
    """Return True if what is called so says how a run ended, be it below others: ``run.status``."""
    return _STATUS.fullmatch(last_part(name)) is not None and not is_setting_name(name)


def says_ended(status: str, others: Collection[str]) -> bool:
    """Return True if a status says that a run came to its end; `others` stand in its column.

    Ray writes TERMINATED of such a run; where others have another word for it, it was stopped. A
    word that all have and that is none of a run's going wrong or on says nothing.
    """
    words = {other.lower() for other in others if other}
    of_all = len(words) == 1 and len(others) > 1 and not _GOES_WRONG.search(status)
    return is_end(status) or of_all or (status == "TERMINATED" and not any(map(is_end, words)))


def is_end(status: str) -> bool:
    """Return True if a status is a known word for the end of a run, as that it diverged is one."""
    return says_diverged(status) or _ENDED.fullmatch(_in_words(status)) is not None


def says_diverged(status: str) -> bool:
    """Return True if a status says that a run diverged: ``NaN loss``."""
    return _DIVERGED.fullmatch(_in_words(status)) is not None


def _in_words(status: str) -> str:
    return re.sub(r"[\W_]+", " ", status.lower()).strip()


def counts_items(column: str | None) -> bool:
    """Return True if a column of steps counts tasks or questions, not a training."""
    return _COUNTED_ITEMS.fullmatch(last_part(column or "")) is not None


def truth_of(name: str) -> str:
    """Return what a truth value that is called so says of a run: ``sys/failed`` says failed."""
    matched = _TRUTH.fullmatch(last_part(name))
    return "" if matched is None or is_setting_name(name) else matched[1]


def is_exit_code(name: str) -> bool:
    """Return True if a number that is called so is 0 of a run that did not fail."""
    return _EXIT_CODE.fullmatch(last_part(name)) is not None and not is_setting_name(name)


def tells_end(name: str, texts: Collection[str], count: int) -> bool:
    """Return True if texts in a column of `count` rows say why runs ended: ``error``.

    A loss may be called so, too: all rows have it, and it is no word of going wrong. Reasons to
    stop are settings if any of them is unknown.
    """
    own = last_part(name)
    if is_setting_name(name):
        return False
    if _STOP_REASON.fullmatch(own):
        return all(is_end(text) or _GOES_WRONG.search(text) for text in texts)
    are_words = all(re.search(r"[^\W\d]{2}", text) for text in texts)
    is_telling = len(texts) < count or any(map(_GOES_WRONG.search, texts))
    return _ERROR.fullmatch(own) is not None and are_words and is_telling


def counts_steps(name: str) -> bool:
    """Return True if numbers are called as the steps of those beside them: ``epochs``, ``xs``."""
    counted = last_part(name).removesuffix("s")
    return counted in _COUNTERS or counted.endswith("_step")


def last_part(name: str) -> str:
    """Return a setting's own name, without those above it: ``config/lr`` and params_lr are lr."""
    return normal(re.sub(r"(?i)^(params?|user_attrs)_", "", re.split(r"[./]", name)[-1]))


def kinship(name: str, others: Iterable[str]) -> int:
    """Return how many words of a name are in one of the others, be it cut: acc is of accuracy."""
    return max((len(kin(name, other)) for other in others), default=0)


def kin(name: str, other: str) -> set[str]:
    """Return the words of a name that the other has, be they cut."""
    return {
        own for own in words_of_name(name) for word in words_of_name(other) if _is_cut(own, word)
    }


SPLITS = frozenset({"train", "training", "val", "valid", "validation", "test", "eval", "dev"})
"""Words for the data that a number is of."""
_WHEN = frozenset({"final", "first", "last", "best", "mean", "avg", "average", "min", "max"})


def measures_alike(name: str, tag: str) -> bool:
    """Return True if names share a word for what is measured, and not for what data, or when.

    So do final_accuracy and ``eval/acc``, and not train_seconds and ``train/loss``.
    """
    return not kin(name, tag) <= SPLITS | _WHEN


def _is_cut(word: str, other: str) -> bool:
    short, long = sorted((word, other), key=len)
    return word == other or (len(short) > 2 and long.startswith(short))


def words_of_name(name: str) -> set[str]:
    """Return the words and numbers in a name."""
    return set(re.findall(r"[a-z]+|\d+", name.lower()))


def may_be(name: str, tag: str) -> bool:
    """Return True if a tag may hold what is called so: they share words, and differ on one side.

    So do accuracy and ``eval/acc``, and not train_accuracy and test_accuracy, nor top1 and top5.
    """
    own = words_of_name(name)
    told = {word for word in words_of_name(re.sub(r"\{\w+\}", "", tag)) if word != "s"}
    shared = kin(name, tag)
    others = {word for word in told - kin(tag, name) if len(word) > 1 or word.isdigit()}
    is_spread = not told.isdisjoint(SPREADS)
    return told <= _GENERIC or bool(shared and not is_spread and not (own - shared and others))


def is_called(name: str, tag: str) -> bool:
    """Return True if a tag, or its last part, is called so but for what joins its words."""
    letters, *own = (re.sub("[^a-z0-9]", "", each.lower()) for each in (name, tag, last_part(tag)))
    return letters in own


def abbreviates(name: str, tag: str) -> bool:
    """Return True if a name has a tag's initials: ece and ``test/expected_calibration_error``."""
    initials = "".join(word[0] for word in re.findall(r"[a-z]+|\d+", last_part(tag)))
    return len(initials) > 1 and name.lower() == initials


def is_seed_name(name: str) -> bool:
    """Return True if a name is a seed's, be it below those of settings: ``config.seed``."""
    is_setting = SETTING_PREFIXES.match(name) is not None
    return (last_part(name) if is_setting else normal(name)) in SEED_NAMES


def is_started_with(name: str) -> bool:
    """Return True if a number is called as what a run is started with; ``train/lr`` was logged."""
    return _STARTED_WITH.fullmatch(normal(name)) is not None


def tells_version(name: str) -> bool:
    """Return True if a number below or under this name counts versions: ``versions.arc``."""
    return not {"version", "versions"}.isdisjoint(words_of_name(name))


def is_own(name: str) -> bool:
    """Return True if a name is called as what is each run's own affair."""
    return _OWN.search(normal(name)) is not None


def with_place(name: str, values: Collection[str], place: str = "arm") -> str:
    """Return a name with a place in braces for the longest of these values in it: ``{arm}``."""
    for value in sorted(values, key=len, reverse=True):
        named = re.escape(value).replace("_", "[_-]")
        placed = re.sub(rf"(?i)(?<![a-z0-9{{]){named}(?![a-z0-9}}])", f"{{{place}}}", name, count=1)
        if placed != name:
            return placed
    return name


def templates_of(tags: Iterable[str], places: Mapping[str, Collection[str]]) -> set[str]:
    """Return tags with what tells two of them apart in braces, by what may stand in each place."""
    templates = {as_template(tag, places["arm"]) for tag in tags}
    for place, values in places.items():
        placed = {tag: with_place(tag, values, place) for tag in templates}
        counts = Counter(placed.values())
        templates = {new if counts[new] > 1 else tag for tag, new in placed.items()}
    return templates


def as_template(tag: str, arms: Collection[str]) -> str:
    """Return a tag with ``{arm}`` and ``{seed}`` in the places of an arm and of a seed.

    Beside an arm every number that stands alone is taken for a seed.
    """
    placed = with_place(tag, arms)
    named = "(?:seed|split|fold|run|trial|s)[_= -]?" + ("|" if placed != tag else "")
    numbered, count = re.subn(rf"(?i)(?<![a-z0-9])({named})\d+(?![a-z0-9])", r"\1{seed}", placed)
    return numbered if count == 1 else placed


def name_pattern(
    names: Sequence[str], arms: Collection[str], tags: Collection[str] = ()
) -> str | None:
    """Return a pattern of names that differ in numbers or a tag: ``{arm}-{seed}_{tag}.csv``.

    A number after a word for steps is a step, another a seed. None if the names differ otherwise
    beside their arms, or in a seed alone that no two share, as each arm has its own.

    Args:
        tags: of what one of the names has to have a tag's place.
    """
    undated = [re.sub(r"\d{4}-?\d\d-?\d\d([T_ -]?[\d:.-]*\d)?", "*", name) for name in names]
    split = [re.split(r"(\d+)", with_place(name, arms)) for name in undated]
    columns = [set(cells) for cells in zip(*split, strict=False)]
    pieces = [*split[0]]
    placed: dict[str, int] = {}
    for place, cells in enumerate(columns):
        if len(cells) == 1:
            continue
        if place % 2 == 0:
            called = "{tag}"
            piece = _with_tag_place(cells, tags)
        else:
            called = "{step}" if re.search(f"(?i){_STEP_BEFORE}$", pieces[place - 1]) else "{seed}"
            piece = called
        if piece is None or called in placed:
            return None
        placed[called] = len(cells)
        pieces[place] = piece
    alike = {len(parts) for parts in split} == {len(columns)}
    is_shared = [*placed] != ["{seed}"] or placed["{seed}"] < len(names)
    return "".join(pieces) if alike and placed and is_shared else None


def _with_tag_place(texts: Collection[str], tags: Collection[str]) -> str | None:
    """Return texts that differ in a word, which is a tag in one, with ``{tag}`` in its place."""
    for tag in sorted(tags, key=len, reverse=True):
        for text in texts:
            before, found, after = text.partition(tag)
            others = (re.fullmatch(rf"{re.escape(before)}\w+{re.escape(after)}", o) for o in texts)
            if found and all(others):
                return f"{before}{{tag}}{after}"
    return None


def is_summed(name: str) -> bool:
    """Return True if a number, or an object that it is in, is called as what sums runs up."""
    return any(part.lower() in SUMMED for part in re.split(r"[./]", name))


def names_arm(name: str) -> bool:
    """Return True if a setting, be it below others, is called as one that names an arm."""
    return ARM_LIKE.fullmatch(last_part(name)) is not None


def tells_apart(name: str) -> bool:
    """Return True if a setting is called as what names an arm, a number or its split."""
    return names_arm(name) or last_part(name) in {*TAG_NAMES, *CONTEXT_NAMES}


def is_label(name: str, value: object, parts: Collection[str]) -> bool:
    """Return True if a setting's value is a hash, an id, or the name of a folder or file.

    Args:
        parts: the names of the run's folders and of its file.
    """
    text = str(value)
    is_id = _IDS.search(name) is not None and " " not in text
    is_hash = _HASH.fullmatch(text) is not None
    own = any(text == part.partition(".")[0] or text == part for part in parts)
    return isinstance(value, str) and (own or is_hash or is_id)


def without_numbers(name: str) -> str:
    """Return a name with # in the place of each number and each hash."""
    return re.sub(r"\d+", "#", re.sub(rf"(?<![^\W_]){_HASH.pattern}(?![^\W_])", "#", name))


def is_length(name: str, counter: str | None) -> bool:
    """Return True if a setting, be it below others, is called as the number of steps.

    That of epochs is one where the `counter`, the column of steps, counts these.
    """
    in_epochs = normal(counter or "") == "epoch" and _LAST_EPOCH.fullmatch(last_part(name))
    return bool(in_epochs or _LAST_STEP.fullmatch(last_part(name)))
