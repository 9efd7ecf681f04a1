"""What a course shows: rest, spikes, swings, cuts, drops, and how it was made; by hand."""

import math
from typing import Any

import numpy as np
import pytest
import scipy

from reproaudit.stats.courses import (
    best_of_fewer,
    best_until,
    ends_at_best,
    improves_only,
    is_best_so_far,
    lag_of,
    made_by_records,
    same_throughout,
    unevenness,
    without_lag,
)
from reproaudit.stats.growth import RESOLVED, misfit_of
from reproaudit.stats.rest import (
    change_at_rest,
    cuts_of,
    drop_of,
    is_periodic,
    swing_of,
    without_spikes,
)

T100 = np.arange(1.0, 101.0)


def noise(seed: int, count: int = 100, size: float = 1.0) -> Any:
    return size * np.random.default_rng(seed).normal(size=count)


def flat(count: int, **raised: float) -> Any:
    """Zeros, with numbers at places: at_4=0.3."""
    values = np.zeros(count)
    for name, value in raised.items():
        values[int(name.removeprefix("at_"))] = value
    return values


# --- rest -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("logs", "kept"),
    [
        (flat(40, at_20=0.11), False),
        (flat(40, at_20=0.1), True),  # as high as a tenth
        (flat(40, at_20=-9.0), True),  # a dip
        (flat(40, at_0=9.0, at_1=9.0), True),  # how a course starts, or ends
        (flat(40, at_39=9.0, at_38=9.0), True),
        (flat(40, at_20=9.0, at_22=9.0, at_30=9.0, at_32=9.0), False),
        (flat(40, at_8=9.0, at_14=9.0, at_20=9.0, at_26=9.0, at_32=9.0), True),  # an eighth
        (flat(10, at_5=9.0), False),
        (flat(9, at_4=9.0), True),  # a ninth
        (flat(8, at_4=9.0), True),
    ],
)
def test_a_spike_rises_above_the_median_of_nine_by_a_tenth(logs, kept):
    smooth = logs if kept else np.zeros(len(logs))
    for level in (0.0, 4.0):
        assert without_spikes(level + logs).tolist() == (level + smooth).tolist()


def test_a_spike_rises_above_noise():
    """Distances from the running median are 0.04, of which five deviations are 0.2965."""
    course = np.resize([0.04, 0.0, -0.04, 0.04, -0.04, 0.0], 120)
    middle = np.array([np.median(course[k - 4 : k + 5]) for k in range(4, 116)])
    rough = 1.4826 * float(np.median(np.abs(course[4:116] - middle)))
    for height, kept in ((4.9 * rough, True), (5.1 * rough, False)):
        logs = course.copy()
        logs[60] = middle[56] + height
        expected = logs.copy()
        expected[60] = logs[60] if kept else np.median([*np.delete(logs[56:65], 4), 9.0])
        assert without_spikes(logs) == pytest.approx(expected)


def doubled(logs: Any, since: float) -> float:
    """The change in as long again of a line over the logarithm of time, from a share on."""
    late = 1 + since * 99 <= T100
    return math.log(2) * abs(float(np.polyfit(np.log(T100[late]), logs[late], 1)[0]))


@pytest.mark.parametrize(
    ("logs", "since"),
    [
        (noise(1, size=0.05), 0.5),
        (noise(2, size=0.08), 0.42),  # the last half does not tell
        (0.07 * np.log(T100), 0.5),  # 0.0485
        (-0.07 * np.log(T100), 0.5),
        (0.074 * np.log(T100), None),  # 0.0513
        (0.13 * np.log(T100) + 0.001 * noise(0), None),
        (noise(0, size=0.8), None),  # more noise than bound
        (noise(0, size=0.01) + 0.2 * (T100 > 90), None),  # its last parts lie elsewhere
        (noise(0, size=0.01) - 0.2 * (T100 > 95), None),
        (noise(0, size=0.01) + 0.2 * (T100 > 81), None),
        (0.03 * (T100 > 95), 0.5),  # by less than the bound
        (0.2 * np.sin(T100 * 2 * np.pi / 10), None),  # swings
        (0.02 * np.sin(T100 * 2 * np.pi / 10), 0.5),  # within the bound
        (0.08 * np.sin(T100 * 2 * np.pi / 4), None),  # though neighbours differ as much
        (0.02 * np.sin(T100 * 2 * np.pi / 60) + noise(0, size=1e-4), None),  # beyond its noise
    ],
)
def test_what_is_at_rest_changes_by_its_trend_in_as_long_again(logs, since):
    change = change_at_rest(T100, logs, 0.05)
    expected = math.nan if since is None else doubled(logs, since)
    assert change == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True)


def test_the_last_parts_are_those_of_the_log():
    """Of a log from step 200 to 299 the last twentieth, from 294.05 on, lies elsewhere."""
    steps = 199 + T100
    for since, rests in ((95, False), (200, True)):
        logs = noise(0, size=0.01) + 0.2 * (since < T100)
        assert math.isnan(change_at_rest(steps, logs, 0.05)) is not rests


@pytest.mark.parametrize(("count", "seed"), [(51, 0), (7, 1), (7, 17), (7, 5)])
def test_a_trend_at_rest_is_known_to_twice_the_bound(count, seed):
    """The 90 % interval of a slope, with as many observations as err on their own: down to 2.9."""
    steps = np.linspace(50, 100, count)
    random = noise(seed, count + 1, 0.01)
    logs = random[1:] + 0.7 * random[:-1]
    x = np.log(steps) - np.log(steps).mean()
    slope, level = np.polyfit(x, logs, 1)
    misfit = misfit_of(logs - level - slope * x, RESOLVED)
    free = max(misfit.independent - 2, 1.0)
    error = scipy.stats.t.ppf(0.95, int(free)) * misfit.size / math.sqrt(free * (x**2).mean())
    twice = math.log(2) * (abs(slope) + error)
    for share in (0.999, 1.001):
        change = change_at_rest(np.append(0, steps), np.append(9, logs), share * twice / 2)
        assert math.isnan(change) is (share < 1)


def last_part(steps: Any, logs: Any, part: float) -> tuple[Any, float, float]:
    """Where a last part begins, the mean of the line before it there, and how far it may lie.

    The line goes over the logarithm of time. The mean of new observations lies in the 98 % interval
    of a regression, with as many observations as err on their own.
    """
    late = steps >= steps[-1] - part * (steps[-1] - steps[0])
    x = np.log(steps)
    middle = x[~late].mean()
    slope, level = np.polyfit(x[~late] - middle, logs[~late], 1)
    misfit = misfit_of(logs[~late] - level - slope * (x[~late] - middle), RESOLVED)
    at = x[late].mean() - middle
    spread = 1 / late.sum() + 1 / (~late).sum() + at**2 / ((x[~late] - middle) ** 2).sum()
    alike = (~late).sum() / misfit.independent
    quantile = scipy.stats.t.ppf(0.99, int(misfit.independent - 2))
    return late, level + slope * at, quantile * misfit.size * math.sqrt(alike * spread)


@pytest.mark.parametrize(
    ("count", "seed", "alike", "part"),
    [
        (51, 1, 0.0, 0.2),
        (51, 2, 0.0, 0.05),
        (51, 1, 0.7, 0.05),
        (51, 5, 0.7, 0.1),
        (6, 0, 0.0, 0.1),
    ],
)
def test_the_last_part_lies_on_the_trend_before_it_but_for_noise(count, seed, alike, part):
    """The last half of training has so many observations; nothing else is observed after its start.

    The noise allows more than the bound.
    """
    steps = np.linspace(50, 100, count)
    random = noise(seed, count + 1, 0.05 if count > 6 else 0.02)
    logs = random[1:] + alike * random[:-1]
    late, line, most = last_part(steps, logs, part)
    assert most > 0.05
    for share in (0.999, 1.001):
        logs[late] += line + share * most - logs[late].mean()
        change = change_at_rest(np.append(0, steps), np.append(9, logs), 0.05)
        assert math.isnan(change) is (share > 1)


@pytest.mark.parametrize(
    ("steps", "change"),
    [
        ((0, 50, 60, 70, 80, 90, 100), 0.0),
        ((0, 60, 70, 80, 90, 100), math.nan),
        ((50, 60, 70, 80, 90, 100), math.nan),  # five in the last nine tenths
        ((45, 50, 60, 70, 80, 90, 100), math.nan),
        ((45, 51, 60, 70, 80, 90, 100), 0.0),
    ],
)
def test_rest_is_read_of_six_observations(steps, change):
    at = np.array(steps, dtype=np.float64)
    assert change_at_rest(at, np.zeros(len(at)), 0.05) == pytest.approx(change, nan_ok=True)


@pytest.mark.parametrize("uneven", [False, True])
def test_noise_has_no_period_and_a_sine_has(uneven):
    steps = T100
    if uneven:
        steps = 1e4 + np.sort(np.random.default_rng(0).choice(10**4, 60, replace=False))
    count = len(steps)
    by_chance = [seed for seed in range(500) if is_periodic(steps, noise(seed, count))]
    assert 1 <= len(by_chance) <= 9  # 1 %
    span = (steps - steps[0]) / (steps[-1] - steps[0])
    for periods in (0.5, 1, 11, 24) if uneven else (6, 11, 24):
        sine = np.sin(2 * np.pi * periods * span + 1.0)
        assert is_periodic(steps, 3 * uneven + sine + noise(0, count, 0.2))
        assert not is_periodic(steps, 0.3 * sine + noise(0, count))


@pytest.mark.parametrize("count", [9, 12, 16])
def test_a_period_is_told_at_1_per_cent(count):
    """Two sines, of which one has the share of all power that noise has in a hundredth (Fisher)."""
    frequencies = count // 2
    least = 1 - (0.01 / frequencies) ** (1 / (frequencies - 1))
    angle = 2 * np.pi * np.arange(count + 1)[:, None] / count * np.array([1, frequencies // 2 + 1])

    def share(weight: float) -> float:
        """That of the first sine, without what the autoregression explains."""
        size = np.array([1.0, weight]) ** 2
        turn = np.cos(angle[1])
        alike = float(size @ turn / size.sum())
        power = size * (1 - 2 * alike * turn + alike**2)
        return float(power[0] / power.sum() - least)

    weight = scipy.optimize.brentq(share, 1e-3, 9.0)
    for by, periodic in ((0.999, True), (1.001, False)):
        values = np.sin(angle) @ (1.0, by * weight)
        assert is_periodic(np.arange(count + 1.0), values) is periodic


def test_neighbours_that_err_alike_have_no_period():
    alike = 0
    for seed in range(100):
        values = noise(seed)
        for k in range(1, 100):
            values[k] += 0.8 * values[k - 1]
        alike += is_periodic(T100, values)
    assert alike <= 3
    sine = np.sin(np.pi * np.arange(8))
    assert not is_periodic(np.arange(7.0), np.resize([1.0, -1.0, -1.0, 1.0], 7))
    assert not is_periodic(np.arange(8.0), 0 * sine)
    twice = np.sin(4 * np.pi * np.arange(8) / 7)
    assert is_periodic(np.arange(8.0), twice)
    assert not is_periodic(np.arange(7.0), twice[:7])
    # where steps differ by a tenth of their mean at most, neighbours that alternate have no period
    for apart, periodic in ((4, False), (6, True)):
        steps = 100 * T100 + apart * (np.arange(100) % 4 == 1)
        assert is_periodic(steps, np.resize([1.0, -1.0], 100)) is periodic


@pytest.mark.parametrize(("count", "swing"), [(21, 0.0), (24, math.sqrt(4 / 3))])
def test_neighbours_swing_alike_or_not(count, swing):
    """Neighbours of 1, 0, -1 correlate by -3/7 in 21 observations, and by -7/16 in 24."""
    assert swing_of(5 + np.resize([1.0, 0.0, -1.0], count)) == pytest.approx(swing)
    assert swing_of(-np.resize([1.0, 0.0, -1.0], count)) == pytest.approx(swing)


def test_a_swing_has_the_size_of_its_sine():
    assert swing_of(3 + 0.2 * np.sin(2 * np.pi * T100 / 25)) == pytest.approx(0.2)
    assert swing_of(np.resize([1.0, -1.0], 8)) == pytest.approx(math.sqrt(2))
    assert swing_of(np.resize([1.0, -1.0], 7)) == 0


@pytest.mark.parametrize(
    ("rates", "cuts"),
    [
        ((3, 2, 2, 2, 2), [20]),
        ((3, 2.1, 2.1, 2.1, 2.1), []),
        ((10, 10, 5, 4, 4), [30]),
        ((10, 10, 5, 3.9, 3.9), []),
        ((9, 3, 3, 1, 1), [20, 40]),
        ((9, 9, 9, 9, 1), []),  # the last says nothing of what follows
        ((1, 9, 9, 9, 9), []),
    ],
)
def test_a_rate_is_cut_where_it_falls_by_a_third_and_stays(rates, cuts):
    steps = np.array([10.0, 20, 30, 40, 50])
    assert cuts_of(steps, np.array(rates, dtype=np.float64)).tolist() == cuts


ALTERNATING = np.resize([0.01, -0.01], 100)


@pytest.mark.parametrize(
    ("logs", "dropped"),
    [
        (-0.3 * (T100 > 60), True),
        (-0.3 * (T100 > 60) - 0.002 * T100, True),
        (-0.3 * (T100 > 60) + ALTERNATING, True),
        (-0.3 * (T100 > 85), True),
        (-0.19 * (T100 > 60), False),
        (-0.21 * (T100 > 60), True),
        (0.3 * (T100 > 60), False),
        (0.01 * T100 - 0.9 * (T100 > 60), False),  # it rises before
        (-0.3 * (T100 > 60) - 0.06 * np.maximum(T100 - 60, 0), False),  # it goes on after
        (-0.3 * (T100 > 60) - 0.01 * np.maximum(T100 - 60, 0), True),
        # it may go on after, for all noise
        (-0.3 * (T100 > 85) - 0.009 * np.maximum(T100 - 85, 0) + 3 * ALTERNATING, True),
    ],
)
def test_a_drop_is_one_step_of_a_line(logs, dropped):
    for steps in (T100, 1000 + 7 * T100):
        misfit = drop_of(steps, logs, 0.2)
        assert (misfit is not None) is dropped
        if misfit is not None:
            place = int(np.argmin(np.diff(logs))) + 1
            shape = np.stack([T100**0, T100, np.arange(100) >= place], axis=1)
            left_over = logs - shape @ np.linalg.lstsq(shape, logs, rcond=None)[0]
            size = max(float(np.sqrt(np.mean(left_over**2))), RESOLVED)
            assert misfit.size == pytest.approx(size, rel=1e-3)


def test_a_drop_needs_twelve_observations():
    logs = -1.0 * (np.arange(12) > 5)
    assert drop_of(np.arange(12.0), logs, 0.2) is not None
    assert drop_of(np.arange(11.0), logs[1:], 0.2) is None


# --- how it was made ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "improves", "best"),
    [
        # three plateaus, left by steps of 1, 1 and 1.6 or 1.5
        ((9, 8, 8, 7, 7, 6, 6, 4.4, 4.4, 4.4), True, True),
        ((9, 8, 8, 7, 7, 6, 6, 4.5, 4.5, 4.5), True, False),
        ((9, 8, 8, 7, 7, 6, 6, 4.4, 4.4), True, False),  # nine points
        ((9, 8, 7, 6.5, 6.5, 5.5, 5.5, 3.5, 3.5, 3.4), True, True),
        ((9, 8, 7, 6.5, 6, 5.5, 5.5, 3.5, 3.5, 3.4), True, False),  # two plateaus
        ((9, 8, 8, 7, 7, 6, 6, 4.4, 4.4, 4.5), False, False),
        ((1, 1, 1, 1, 1, 1, 1, 1, 1, 1), False, False),
    ],
)
def test_a_best_so_far_leaves_three_plateaus(values, improves, best):
    for course in (np.array(values, float), -np.array(values, float)):
        assert (improves_only(course), is_best_so_far(course)) == (improves, best)


def test_the_best_is_by_which_way_a_course_has_gone():
    course = np.array([5.0, 9.0, 4.0, 6.0, 5.5, 8.0, 5.2, 5.1, 6.3, 5.0])
    assert not ends_at_best(course)  # it ends where it began: the largest would be its best
    assert not ends_at_best(course[[0, 1, 3, 4, 5, 7, 8, 1, 3, 9]])  # so that its least is none
    assert ends_at_best(np.append(course, 3.0))
    assert ends_at_best(np.append(course, 9.0))
    assert not ends_at_best(np.append(course, 8.9))
    assert not ends_at_best(course[1:3])
    assert ends_at_best(np.arange(10.0))
    assert not ends_at_best(np.arange(9.0))


def test_how_far_points_lie_from_the_middle_of_others():
    """Distances of 1/2, 1 and 1/2 at one point, of 1 at two."""
    one = np.array([0.0, 0, 1, 0, 0])
    normal = math.sqrt(1.5) * 0.6745
    assert unevenness(one) == pytest.approx(0.5 / normal)
    assert unevenness(one, 2) == pytest.approx(1 / normal)
    assert unevenness(one[:4], 2) == unevenness(one[:2]) == 0
    assert unevenness(one[1:4]) == pytest.approx(1 / normal)
    assert unevenness(noise(0, 20000)) == pytest.approx(1, rel=0.03)


def averaged(values: Any, over: int) -> Any:
    """The means of the last so many points, of fewer at the start."""
    return np.array([values[max(0, k - over + 1) : k + 1].mean() for k in range(len(values))])


@pytest.mark.parametrize(("count", "over", "lag"), [(100, 16, 9), (100, 64, 25), (48, 32, 12)])
def test_an_average_lags_by_half_of_a_jump_at_most_a_fourth(count, over, lag):
    """An average without noise over w points takes 0.8 w for its change: from a tenth to nine."""
    ramp = np.clip((np.arange(count) - 4) / over, 0, 1)
    rough = np.resize([1.0, 0.0, -1.0], count)
    assert lag_of(ramp, rough) == lag_of(-ramp, rough) == lag_of(5 + 2 * ramp, rough) == lag
    assert lag_of(ramp, 0 * rough) == 0
    assert lag_of(ramp[:39], rough) == 0
    assert lag_of(ramp[:40], rough) > 0


def test_an_average_lags_by_what_its_noise_shows():
    for over, least, most in ((9, 4, 5), (15, 7, 8), (25, 12, 13)):
        for seed in (1, 2):
            whole = np.where(np.arange(200) < 100, 0.0, 1.0) + noise(seed, 200, 0.1)
            average = averaged(whole, over)
            assert least <= lag_of(average, whole) <= most
            assert lag_of(average, average) == lag_of(whole, whole) == lag_of(whole, average) == 0
    ramp = np.linspace(0, 1, 200)
    assert lag_of(ramp + noise(3, 200, 0.02), noise(4, 200, 0.2)) == 0
    whole = noise(3, 200, 0.1)
    assert lag_of(whole / 5, whole) == 0  # its neighbours share nothing
    assert lag_of(averaged(noise(1, 200), 9), averaged(noise(2, 200), 2)) > 0
    assert lag_of(averaged(noise(1, 200), 4), averaged(noise(2, 200), 2)) == 0


def test_without_its_lag_a_course_goes_on_as_straight_as_its_last_tenth():
    values = np.arange(30.0) ** 2
    pace = (29**2 - 26**2) / 3
    moved = without_lag(values, 4)
    assert moved.tolist() == [0, *values[5:], *(29**2 + pace * np.arange(1, 5))]
    assert without_lag(values[:6], 1).tolist() == [0, 4, 9, 16, 25, 34]


def test_the_best_of_all_and_of_fewer():
    values = np.array([5.0, 1, 4, 2, 3, 0])
    assert best_until(values, upwards=True).tolist() == [5] * 6
    assert best_until(values, upwards=False).tolist() == [5, 1, 1, 1, 1, 0]
    # every second point: 5 4 3 and 1 2 0
    assert best_of_fewer(values, 2, upwards=True) == 2
    assert best_of_fewer(values, 2, upwards=False) == 3
    two = np.stack([values, -values], axis=1)
    assert best_of_fewer(two, 2, upwards=True).tolist() == [2, -3]


@pytest.mark.parametrize(
    ("at", "late"),
    [((0, 1, 2, 30), 2.0), ((0, 1, 30, 31), 0.0), ((0, 1), 0.0), ((0, 1, 2), 1.0),
     ((0, 1, 20), 0.0), ((0, 1, 19), 1.0), ((0, 1, 2, 20), 2.0), ((0, 1, 2, 3, 20, 21), 0.0),
     ((0, 1, 2, 3, 4, 20, 21), 2.0)],
)  # fmt: skip
def test_records_that_grow_rarer_leave_open_what_they_are_best_of(at, late):
    sizes = np.zeros(39)
    sizes[list(at)] = 1.0 + np.arange(len(at))
    values = 50 - np.concatenate([[0], np.cumsum(sizes)])
    kept = float(np.mean(sizes[list(at)[-3:]]))
    expected = 2 * math.log(40) * kept if late else 0.0
    assert made_by_records(values) == pytest.approx(expected)


def pairs(apart: Any, moves: float = 1.0, runs: int = 3, steps: int = 20) -> Any:
    """Courses that fall by so much, and those that lie so far above them."""
    lower = np.tile(1 - moves * np.linspace(0, 1, steps), (runs, 1))
    return lower, lower + apart


LATE = np.repeat([0.0, 1.0], [18, 2])


@pytest.mark.parametrize(
    ("courses", "same"),
    [
        (pairs(0.4), True),
        (pairs(-0.4), True),
        (pairs(0.4, runs=2), False),
        (pairs(0.4, steps=19), False),
        (pairs(0.51), False),  # it moves by less than twice as much
        (pairs(0.5), True),
        (pairs(0.4 + 0.09 * LATE), True),  # by less than a fourth
        (pairs(0.4 - 0.09 * LATE), True),
        (pairs(0.4 + 0.11 * LATE), False),
        (pairs(0.4 - 0.11 * LATE), False),
        (pairs(0.4 - 0.11 * LATE[::-1]), False),
        (pairs(0.4 * (1 - np.eye(1, 20))), False),  # there is none at the first
        # one of three lies elsewhere at the end: by noise
        (pairs(0.4 + LATE * np.array([[0.0], [0.0], [0.4]])), True),
        # at the first, by as much as to lie above 0 by twice its error, or not
        (pairs(0.4 + np.eye(1, 20) * np.array([[-0.1], [0.0], [0.1]])), True),
        (pairs(0.4 + np.eye(1, 20) * np.array([[-0.3], [0.0], [0.3]])), False),
    ],
)
def test_a_contrast_is_the_same_throughout_but_for_noise(courses, same):
    assert same_throughout(*courses, 1.645) is same
