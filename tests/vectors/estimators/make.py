"""Records what well-known packages make of some made-up data, for the estimators of the forecast and the change detector:

    python3 -m venv venv && venv/bin/pip install numpy==2.4.6 scipy==1.17.1 scikit-learn==1.9.1 statsmodels==0.15.0 \
        crepes==0.9.1 mapie==1.6.0 && venv/bin/python make.py > estimators.json

The data are of small whole numbers, without a random generator, so another run gives the same file.
"""

import json
import math

import numpy as np
import statsmodels.api as sm
from crepes import ConformalClassifier
from mapie.regression import TimeSeriesRegressor
from mapie.subsample import BlockBootstrap
from scipy import stats
from sklearn.dummy import DummyRegressor
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, brier_score_loss, roc_auc_score

N = np.arange(60)
ROWS = np.column_stack([(N * 7 % 13) / 4, (N * 5 % 11) - 4, (N * N * 3 + N) % 17 / 8])
LABELS = ((N * N * 3 + N) % 7 < 3).astype(int)
WEIGHTS = 1 + N % 3


def logistic(ridge):
    """The features standardised with the weighted mean and deviation, the penalty on all but the intercept."""
    mean = np.average(ROWS, axis=0, weights=WEIGHTS)
    deviation = np.sqrt(np.average((ROWS - mean) ** 2, axis=0, weights=WEIGHTS))
    scaled = (ROWS - mean) / deviation
    fitted = LogisticRegression(C=1 / ridge, solver="newton-cholesky", tol=1e-14, max_iter=1000)
    fitted.fit(scaled, LABELS, sample_weight=WEIGHTS)
    found = {
        "ridge": ridge,
        "intercept": fitted.intercept_[0],
        "weights": fitted.coef_[0].tolist(),
        "probabilities": fitted.predict_proba(scaled)[:, 1].tolist(),
        "errors": None,
    }
    if ridge < 1e-6:
        # Without a penalty, the standard errors of the linear predictor are those of a generalised linear model.
        model = sm.GLM(LABELS, sm.add_constant(scaled), family=sm.families.Binomial(), freq_weights=WEIGHTS).fit(tol=1e-14)
        design = sm.add_constant(scaled)
        found["errors"] = np.sqrt(np.einsum("ij,jk,ik->i", design, model.cov_params(), design)).tolist()
        assert np.allclose(model.params, [found["intercept"], *found["weights"]], atol=1e-6)
    return found


def isotonic():
    scores = (N % 19) / 4
    outcomes = (N % 19 + N * 5 % 7 > 13).astype(float)
    at = np.arange(0, 5, 0.25)
    fitted = IsotonicRegression().fit(scores, outcomes, sample_weight=WEIGHTS)
    # Its steps where scores were seen; between them it interpolates, which is not what is compared.
    seen = [value for value in at.tolist() if value in set(scores.tolist())]
    return {
        "scores": scores.tolist(),
        "outcomes": outcomes.tolist(),
        "weights": WEIGHTS.tolist(),
        "at": seen,
        "values": fitted.predict(seen).tolist(),
    }


def figures():
    probabilities = (N * 11 % 29) / 30 + 0.02
    return {
        "probabilities": probabilities.tolist(),
        "labels": LABELS.tolist(),
        "auc": roc_auc_score(LABELS, probabilities),
        "average_precision": average_precision_score(LABELS, probabilities),
        "brier": brier_score_loss(LABELS, probabilities),
    }


def conformal():
    """Class-conditional sets: which of two classes are in, at several alphas."""
    count = 200
    calibration = (np.arange(count) * 37 % 211) / 211 * 0.9 + 0.05
    classes = (np.arange(count) * 13 % 10 < 4).astype(int)
    # The probability of the class that each case had, as nonconformity 1 - p.
    fitted = ConformalClassifier().fit(1 - calibration, bins=classes)
    probabilities = (np.arange(40) + 0.5) / 40
    cases = []
    for alpha in (0.02, 0.1, 0.25, 0.5):
        for kind in (0, 1):
            scores = (1 - probabilities).reshape(-1, 1)
            values = fitted.predict_p(scores, bins=np.full(len(probabilities), kind), smoothing=False)[:, 0]
            cases.append({"alpha": alpha, "class": kind, "in_set": (values > alpha).tolist()})
    return {
        "calibration": calibration.tolist(),
        "classes": classes.tolist(),
        "probabilities": probabilities.tolist(),
        "cases": cases,
    }


def adaptive():
    """Adaptive conformal inference on a regression whose noise grows half way: when it missed, and where alpha went."""
    target, gamma, rounds = 0.1, 0.02, 300
    noise = (np.arange(200) * 37 % 101) / 101 - 0.5
    nothing = np.zeros((200, 1))
    fitted = TimeSeriesRegressor(DummyRegressor(), method="aci", cv=BlockBootstrap(30, length=20, random_state=1))
    fitted.fit(nothing, noise)
    misses, path, before = [], [], target
    for n in range(rounds):
        value = ((n * 29 % 97) / 97 - 0.5) * (1 if n < rounds / 2 else 1.04)
        fitted.adapt_conformal_inference(np.zeros((1, 1)), np.array([value]), gamma, confidence_level=1 - target)
        alpha = float(next(iter(fitted.current_alpha.values())))
        assert 0 < alpha < 1, (n, alpha)
        misses.append(int(alpha < before))
        path.append(alpha)
        before = alpha
    assert 10 < sum(misses) < 100
    return {"target": target, "gamma": gamma, "misses": misses, "alpha": path}


def cusum():
    """Bernoulli CUSUM by its closed form, the log likelihood ratio of the last k votes at its highest k."""
    quiet, block = 0.03, 0.5
    votes = np.array([(1 if n * 7 % 12 == 0 else 0) if n < 40 else (1 if n * 7 % 5 < 3 else 0) for n in range(80)])
    ratio = stats.bernoulli.logpmf(votes, block) - stats.bernoulli.logpmf(votes, quiet)
    walk = np.concatenate([[0.0], np.cumsum(ratio)])
    sums = (walk - np.minimum.accumulate(walk))[1:]
    declared = int(np.argmax(sums >= math.log(1000)))
    zeros = np.flatnonzero(sums[: declared + 1] <= 1e-12)
    start = int(zeros[-1]) + 1 if len(zeros) else 0
    return {"votes": votes.tolist(), "sums": sums[: declared + 1].tolist(), "start": start, "declared": declared}


FOUND = {
    "logistic": [logistic(ridge) for ridge in (2.0, 300.0, 1e-9)],
    "rows": ROWS.tolist(),
    "labels": LABELS.tolist(),
    "weights": WEIGHTS.tolist(),
    "isotonic": isotonic(),
    "figures": figures(),
    "conformal": conformal(),
    "adaptive": adaptive(),
    "cusum": cusum(),
}
print("{" + ",\n".join(f"{json.dumps(name)}: {json.dumps(found)}" for name, found in FOUND.items()) + "}")
