"""Records synthetic controls of made-up units from pysyncon and SciPy, as `vectors.json` beside this file.

Run with Python 3, numpy, SciPy 1.17 and pysyncon 1.7: `python3 make.py`. It gives the same file every time.

The weights are those of `pysyncon.base.VanillaOptimMixin.w_optimize` (all days weigh the same), checked here against
`scipy.optimize.nnls` with a heavy row for the sum of 1; the placebo ratios and the p-value follow from them.
"""

import json
import os

import numpy
import scipy
import scipy.optimize
from pysyncon.base import VanillaOptimMixin

RIDGE = 1e-6


def by_nnls(before, donors):
    """The same problem with the ridge of the program, solved as non-negative least squares."""
    count = donors.shape[1]
    scale = (donors**2).sum() / count
    heavy = 1e5
    rows = numpy.vstack([donors, numpy.sqrt(RIDGE * scale) * numpy.eye(count), heavy * numpy.ones((1, count))])
    target = numpy.concatenate([before, numpy.zeros(count), [heavy]])
    weights, _ = scipy.optimize.nnls(rows, target, maxiter=100_000)
    return weights / weights.sum()


def by_pysyncon(before, donors):
    every = numpy.eye(len(before))
    options = {"maxiter": 1000, "ftol": 1e-14}
    return VanillaOptimMixin.w_optimize(every, 100 * donors, 100 * before, qp_options=options)[0]


def ratio(treated, donors, days):
    weights = by_nnls(treated[:days], donors[:days])
    made = donors @ weights
    before = numpy.sqrt(((treated[:days] - made[:days]) ** 2).mean())
    after = numpy.sqrt(((treated[days:] - made[days:]) ** 2).mean())
    return weights, before, after, made


def case(name, seed, count, effect, days=14, after=7):
    random = numpy.random.default_rng(seed)
    trend = random.normal(0, 0.02, days + after).cumsum()
    donors = numpy.empty((days + after, count))
    for index in range(count):
        donors[:, index] = 0.1 + 0.02 * index + (0.5 + 0.1 * index) * trend + random.normal(0, 0.01, days + after)
    treated = 0.6 * donors[:, 0] + 0.4 * donors[:, count // 2] + random.normal(0, 0.004, days + after)
    treated[days:] += effect
    donors, treated = numpy.round(donors, 6), numpy.round(treated, 6)
    weights, before, post, made = ratio(treated, donors, days)
    package = by_pysyncon(treated[:days], donors[:days])
    # Two solvers of one problem: the fit is the same, whatever tiny weights differ.
    assert numpy.abs(donors[:days] @ package - made[:days]).max() < 2e-3, (name, package, weights)
    own = post / max(before, 1e-4)
    placebos = []
    for index in range(count):
        others = numpy.delete(donors, index, axis=1)
        _, placebo_before, placebo_after, _ = ratio(donors[:, index], others, days)
        placebos.append(float(placebo_after / max(placebo_before, 1e-4)))
    return {
        "name": name,
        "before": treated[:days].tolist(),
        "after": treated[days:].tolist(),
        "donors": [{"before": donors[:days, i].tolist(), "after": donors[days:, i].tolist()} for i in range(count)],
        "weights": weights.tolist(),
        "pysyncon_weights": numpy.asarray(package).tolist(),
        "before_error": float(before),
        "effect": float(treated[days:].mean() - made[days:].mean()),
        "p_value": (1 + sum(value >= own for value in placebos)) / (count + 1),
    }


CASES = [
    case("an effect", 1, 6, 0.2),
    case("none", 2, 8, 0.0),
    case("more donors than days", 3, 20, 0.1),
    case("two donors", 4, 2, -0.05),
]

path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")
with open(path, "w") as file:
    json.dump({"scipy": scipy.__version__, "pysyncon": "1.7.0", "cases": CASES}, file, indent=1)
    file.write("\n")
