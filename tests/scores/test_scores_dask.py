"""Scores learned from Dask collections equal those learned from the same numbers in memory."""

from __future__ import annotations

import os
import signal

import dask
import dask.array as da
import numpy as np
import pandas as pd
import pytest
from dask import dataframe as dd
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

from facereject.metrics import aurc
from facereject.predictors import LogisticClassifier
from facereject.risks import SELE
from facereject.scores import RegressionScore, SELEScore, SELEScoreCV, TrueClassProbabilityScore
from facereject.scores._linear import dask_training as on_partitions
from facereject.scores._linear.model import Solution
from facereject.scores._linear.partitions import PartColumns, draw_folds
from facereject.solver import LinearObjective

CHUNKS = (0, 700, 1, 1299, 1000)
N, D = sum(CHUNKS), 4


@pytest.fixture
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def examples(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(N, D)) * [1.0, 10.0, 0.1, 3.0] + [0.0, 5.0, -2.0, 100.0]
    predictions = rng.choice(["a", "b", "c"], N)
    slope = np.where(predictions == "b", -1.0, 1.0)
    return X, rng.exponential(np.exp(X[:, 0] * slope)), predictions


def parted(array):
    return da.from_array(array, chunks=(CHUNKS, *array.shape[1:]))


def objectives(X, losses, predictions=None):
    """The objective that the solver gets for collections, and the one for arrays."""
    caught = []

    def catch(objective, alphas):
        caught.append(objective)
        return [Solution(*objective.split(np.zeros(objective.n_weights)))]

    given = [parted(X), parted(losses), None if predictions is None else parted(predictions), None]
    on_partitions.PartitionedSet(SELEScore(), *given).models(catch, [1.0])
    classes, blocks = (None, None) if predictions is None else np.unique(predictions, return_inverse=True)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    in_memory = LinearObjective(Z, SELE(losses / losses.mean()), blocks, None if classes is None else 3)
    return caught[0], in_memory


def features(kind):
    rng = np.random.default_rng(1)
    normal = rng.normal(size=(N, D))
    return {
        "normal": normal,
        "tied": np.round(normal),
        "clustered": rng.choice([-1.0, 0.0, 1.0], (N, 1)) * [1.0, 2.0, 3.0, 4.0] + 1e-7 * normal,
        "heavy-tailed": rng.standard_cauchy((N, D)),
    }[kind]


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("size", [1e-6, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["normal", "tied", "clustered", "heavy-tailed"])
@pytest.mark.parametrize("classes", [False, True])
def test_value_and_gradient_equal_those_in_memory(kind, classes, size):
    _, losses, predictions = examples()
    lazy, in_memory = objectives(features(kind), losses, predictions if classes else None)
    w = size * np.random.default_rng(2).normal(size=in_memory.n_weights)
    value, gradient = lazy(w)
    expected_value, expected = in_memory(w)
    assert value == pytest.approx(expected_value, rel=1e-11)
    assert np.linalg.norm(gradient - expected) <= 1e-9 * np.linalg.norm(expected)


@pytest.mark.usefixtures("one_thread")
def test_whitened_scores_have_the_geometry_of_the_scores():
    X, losses, predictions = examples()
    lazy, in_memory = objectives(X, losses, predictions)
    u, w = np.random.default_rng(3).normal(size=(2, in_memory.n_weights))
    assert lazy.scores(u) @ lazy.scores(w) / u.size == pytest.approx(
        in_memory.scores(u) @ in_memory.scores(w) / N, rel=1e-9
    )
    value, gradient = lazy.risk(lazy.scores(w))
    expected_value, expected = in_memory(w)
    assert value == pytest.approx(expected_value, rel=1e-11)
    np.testing.assert_allclose(lazy.pull_back(gradient), expected, rtol=1e-8, atol=1e-12)
    assert gradient @ lazy.scores(u) == pytest.approx(expected @ u, rel=1e-8)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("kind", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("classes", [False, True])
def test_same_optimum_as_in_memory(classes, weighted, kind):
    X, losses, predictions = examples()
    predictions[0] = "once"
    weight = None
    if weighted:
        weight = np.random.default_rng(4).integers(0, 3, N).astype(float)
        weight[0] = 0.0  # a class without weight is still one that training saw
    arguments = [X.astype(kind), losses, predictions if classes else None, weight]
    expected = SELEScore(1e-4, tol=1e-8).fit(*arguments)
    found = SELEScore(1e-4, tol=1e-8).fit(*(None if a is None else parted(a) for a in arguments))
    for name in ("mean_", "scale_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-10)
    for name in ("coef_", "intercept_", "unseen_uncertainty_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-6, atol=1e-8)
    assert found.n_iter_ == expected.n_iter_
    assert found.gap_ <= 1e-8


@pytest.mark.data
@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("table", ["codrna", "california", "pendigit"])
def test_same_optimum_on_real_tables(uci_dir, table):
    with np.load(uci_dir / f"{table}.npz") as stored:
        rows = np.random.default_rng(6).permutation(len(stored["y"]))[: 2 * N]
        X, y = stored["X"][rows], stored["y"][rows] > np.mean(stored["y"])
    Z = StandardScaler().fit_transform(X)
    predictions = LogisticClassifier(1e-3).fit(Z[:N], y[:N]).predict(Z[N:])
    X, losses = X[N:], (predictions != y[N:]).astype(float)
    given = X, losses, predictions
    risk, alpha = SELE(losses / losses.mean()), 1e-3

    def objective(score):
        theta = np.append(score.coef_, score.intercept_)
        return alpha / 2 * theta @ theta + risk(score.predict(X, predictions))[0]

    expected = SELEScore(alpha, tol=1e-8).fit(*given)
    found = SELEScore(alpha, tol=1e-8).fit(*(parted(a) for a in given))
    assert objective(found) == pytest.approx(objective(expected), rel=1e-8)
    scores = expected.predict(X, predictions)
    assert np.abs(found.predict(X, predictions) - scores).max() <= 1e-2 * scores.std()


@pytest.mark.usefixtures("one_thread")
def test_more_features_than_the_preconditioner_takes():
    rng = np.random.default_rng(5)
    X, losses = rng.normal(size=(200, 650)), rng.exponential(size=200)
    expected = SELEScore(0.1, tol=1e-7).fit(X, losses)
    found = SELEScore(0.1, tol=1e-7).fit(da.from_array(X, chunks=(70, 300)), da.from_array(losses, chunks=70))
    np.testing.assert_allclose(found.coef_, expected.coef_, atol=1e-6)


@pytest.mark.usefixtures("one_thread")
def test_a_folder_of_parquet_files(tmp_path):
    X, losses, predictions = examples()
    names = [f"x{j}" for j in range(D)]
    frame = pd.DataFrame(X.astype(np.float32), columns=names).assign(loss=losses, predicted=predictions)
    dd.from_pandas(frame, npartitions=5).to_parquet(tmp_path)
    stored = dd.read_parquet(tmp_path)
    expected = SELEScore(tol=1e-8).fit(frame[names], losses, predictions)
    found = SELEScore(tol=1e-8).fit(stored[names], stored["loss"], stored["predicted"])
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)
    assert list(found.feature_names_in_) == names
    lazy = found.predict(stored[names], stored["predicted"])
    assert isinstance(lazy, da.Array)
    np.testing.assert_allclose(lazy.compute(), expected.predict(frame[names], predictions), rtol=1e-6)
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(stored[names[::-1]], stored["predicted"])


@pytest.mark.usefixtures("one_thread")
def test_predict_is_lazy_and_knows_unseen_classes():
    X, losses, predictions = examples()
    score = SELEScore().fit(X, losses, predictions)
    strange = np.where(np.arange(N) % 2, "z", predictions)
    lazy = score.predict(parted(X), parted(strange))
    assert lazy.chunks == (tuple(length for length in CHUNKS if length),)
    np.testing.assert_array_equal(lazy.compute(), score.predict(X, strange))
    with pytest.raises(ValueError, match="predictions are needed"):
        score.predict(parted(X)).compute()


def folds_of(n_folds, seed):
    """The fold of every example, partition by partition."""
    return np.concatenate(
        [
            draw_folds(PartColumns(np.zeros(length), None, None, None), i, n_folds, seed).fold
            for i, length in enumerate(CHUNKS)
        ]
    )


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("classes", [False, True])
def test_cross_validation_equals_that_in_memory_on_the_same_folds(classes):
    X, losses, predictions = examples()
    if classes:
        predictions[np.flatnonzero(folds_of(3, 7) == 1)[:5]] = "only held out"
    given = [X, losses, predictions if classes else None]
    alphas = (1e-3, 0.1, 10.0)
    found = SELEScoreCV(alphas, cv=3, random_state=7, tol=1e-6).fit(
        *(None if a is None else parted(a) for a in given)
    )
    fold = folds_of(3, 7)
    assert np.bincount(fold).min() > 0.3 * N
    areas = np.empty((3, 3))
    for k in range(3):
        train, held = ([None if a is None else a[rows] for a in given] for rows in (fold != k, fold == k))
        for i, alpha in enumerate(alphas):
            score = SELEScore(alpha, tol=1e-6).fit(*train)
            areas[k, i] = aurc(held[1], score.predict(held[0], held[2]))
    np.testing.assert_allclose(found.validation_aurc_, areas.mean(axis=0), rtol=1e-4)
    again = SELEScore(found.alpha_, tol=1e-6).fit(*given)
    np.testing.assert_allclose(found.coef_, again.coef_, rtol=1e-4, atol=1e-6)


@pytest.mark.usefixtures("one_thread")
@pytest.mark.parametrize("lazy", [False, True])
def test_validation_set(lazy):
    X, losses, predictions = examples()
    held = examples(seed=9)
    expected = SELEScoreCV((1e-3, 1.0)).fit(X, losses, predictions, validation=held)
    found = SELEScoreCV((1e-3, 1.0)).fit(
        *(parted(a) for a in (X, losses, predictions)),
        validation=tuple(parted(a) for a in held) if lazy else held,
    )
    np.testing.assert_allclose(found.validation_aurc_, expected.validation_aurc_, rtol=1e-9)
    assert found.alpha_ == expected.alpha_
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.usefixtures("one_thread")
def test_errors_say_what_to_do():
    X, losses, _ = (parted(a) for a in examples())
    score = SELEScore()
    with pytest.raises(TypeError, match="X must be a Dask array or frame if another"):
        score.fit(X.compute(), losses)
    with pytest.raises(ValueError, match="two dimensions"):
        score.fit(losses, losses)
    with pytest.raises(ValueError, match="lengths differ: X has 3000, losses has 2999"):
        score.fit(X, losses[1:])
    with pytest.raises(ValueError, match=r"losses \(partition \d\) must not be negative"):
        score.fit(X, losses - 1)
    with pytest.raises(ValueError, match=r"X \(partition \d\) contains NaN"):
        score.fit(da.where(X > 1, np.nan, X), losses)
    with pytest.raises(ValueError, match="positive sample_weight"):
        score.fit(X, losses, None, 0 * losses)
    with pytest.raises(ValueError, match="predictions must be classes"):
        score.fit(X, losses, losses)
    with pytest.raises(ValueError, match="cv must be an integer of at least 2 for Dask"):
        SELEScoreCV(cv=[(np.arange(5), np.arange(5, 9))]).fit(X, losses)
    with pytest.raises(ValueError, match="random_state must be an integer"):
        SELEScoreCV(random_state=None).fit(X, losses)
    with pytest.raises(ValueError, match="validation must be a tuple"):
        SELEScoreCV().fit(X, losses, validation=X)
    frame = dd.from_pandas(pd.DataFrame({"x": ["one", "two"], "loss": [1.0, 2.0]}), npartitions=1)
    with pytest.raises(ValueError, match="X must hold numbers"):
        score.fit(frame[["x"]], frame["loss"])
    for other in (RegressionScore(), TrueClassProbabilityScore()):
        with pytest.raises(TypeError, match="takes arrays in memory, not Dask collections; SELEScore takes"):
            other.fit(X, losses)


@pytest.mark.usefixtures("one_thread")
def test_a_fitted_score_clones_and_mixed_arguments_are_cut_alike():
    X, losses, predictions = examples()
    score = SELEScore(tol=1e-7).fit(parted(X), losses, predictions)
    again = clone(score).fit(X, losses, predictions)
    np.testing.assert_allclose(score.coef_, again.coef_, rtol=1e-6, atol=1e-9)


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.mark.slow
def test_a_cluster_that_loses_a_worker_in_the_middle(client, monkeypatch):
    X, losses, predictions = examples()
    expected = SELEScore(1e-4, tol=1e-7).fit(X, losses, predictions)
    original, calls = on_partitions.pair_potentials, []

    def kill_at_third(cells, summaries):
        calls.append(len(summaries))
        if len(calls) == 3:  # the scores of this evaluation lie on the workers, the gradient is yet to come
            os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        return original(cells, summaries)

    monkeypatch.setattr(on_partitions, "pair_potentials", kill_at_third)
    found = SELEScore(1e-4, tol=1e-7).fit(*(parted(a) for a in (X, losses, predictions)))
    assert len(calls) > 3
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-6, atol=1e-9)


def test_groups_are_refused():
    X, losses = da.ones((20, 2), chunks=10), da.ones(20, chunks=10)
    with pytest.raises(TypeError, match="groups are not taken with Dask collections"):
        SELEScoreCV([1.0], cv=2).fit(X, losses, groups=np.arange(20))
