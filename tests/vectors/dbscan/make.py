"""Records clusters of made-up points from scikit-learn, as `vectors.json` beside this file.

Run with Python 3, numpy and scikit-learn 1.9: `python3 make.py`. It gives the same file every time.
"""

import json
import os

import numpy
import sklearn
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

WIDTH = 12


def case(name, points, eps, min_samples):
    points = numpy.round(points, 6)
    scaled = StandardScaler().fit_transform(points)
    found = DBSCAN(eps=eps, min_samples=min_samples).fit(scaled)
    nearest = NearestNeighbors(n_neighbors=min_samples).fit(scaled)
    distances, _ = nearest.kneighbors(scaled)
    cores = sorted(int(at) for at in found.core_sample_indices_)
    reach = []
    for at, point in enumerate(scaled):
        others = [float(numpy.linalg.norm(point - scaled[core])) for core in cores if core != at]
        reach.append(min(others) if others else None)
    # No distance may be so near to eps that rounding decides.
    gaps = [abs(float(numpy.linalg.norm(a - b)) - eps) for a in scaled for b in scaled]
    assert min(gaps) > 1e-6, name
    return {
        "name": name,
        "eps": eps,
        "min_samples": min_samples,
        "points": points.tolist(),
        "standardised": scaled.tolist(),
        "labels": [int(label) for label in found.labels_],
        "cores": cores,
        "median_core_distance": float(numpy.median(distances[:, -1])),
        "nearest_other_core": reach,
    }


def main():
    random = numpy.random.default_rng(45)
    usual = random.normal(size=(45, WIDTH))
    strange = usual.copy()
    strange[-1] += 6
    two = numpy.concatenate([random.normal(scale=0.3, size=(24, WIDTH)), 4 + random.normal(scale=0.3, size=(21, WIDTH))])
    chain = numpy.array([[0.1 * at + (0.02 * random.normal()) for _ in range(WIDTH)] for at in range(40)])
    constant = random.normal(size=(30, WIDTH))
    constant[:, 3] = 7.0
    cases = [
        case("days alike", usual, 3.5, 5),
        case("the last day apart", strange, 4.0, 5),
        case("two kinds of days", two, 1.0, 5),
        case("a chain", chain, 0.9, 4),
        case("a constant feature and much noise", constant, 3.8, 5),
        case("nothing dense", usual, 0.5, 5),
    ]
    out = {"made_by": "make.py", "scikit_learn": sklearn.__version__, "cases": cases}
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "vectors.json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump(out, file, allow_nan=False, separators=(",", ":"))
        file.write("\n")


main()
