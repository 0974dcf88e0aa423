"""Choice of alpha by validation loss, and the predictors on a real table."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler

from facereject.predictors import (
    LogisticClassifier,
    LogisticClassifierCV,
    OrdinalSVM,
    OrdinalSVMCV,
    SVMClassifier,
    SVMClassifierCV,
)

PAIRS = [
    (LogisticClassifierCV, LogisticClassifier),
    (SVMClassifierCV, SVMClassifier),
    (OrdinalSVMCV, OrdinalSVM),
]
CS = (1, 10, 100)
TIGHT = {"tol": 1e-4, "max_iter": 5000}


@pytest.fixture(scope="module")
def data():
    """Few examples and many useless features: regularisation matters."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 12))
    position = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=150)
    return X, np.searchsorted([-1.0, 1.0], position)


def mean_loss(model, X, y):
    if isinstance(model, OrdinalSVM | OrdinalSVMCV):
        return np.abs(model.predict(X) - y).mean()
    return (model.predict(X) != y).mean()


@pytest.mark.parametrize(("search", "fixed"), PAIRS)
def test_validation_set_chooses_and_stays_out_of_training(search, fixed, data):
    X, y = data
    X_val, y_val = X[100:], y[100:]
    model = search(cs=CS, **TIGHT).fit(X[:100], y[:100], validation=(X_val, y_val))
    np.testing.assert_allclose(model.alphas_, np.array(CS) / 100)
    singles = [fixed(alpha, **TIGHT).fit(X[:100], y[:100]) for alpha in model.alphas_]
    # a point within tol of the optimum may label one borderline example differently
    expected = [mean_loss(single, X_val, y_val) for single in singles]
    np.testing.assert_allclose(model.validation_losses_, expected, atol=1.01 / 50)
    best = int(np.flatnonzero(model.alphas_ == model.alpha_)[0])
    assert model.validation_losses_[best] == model.validation_losses_.min()
    assert mean_loss(model, X_val, y_val) == pytest.approx(model.validation_losses_[best])
    np.testing.assert_allclose(model.coef_, singles[best].coef_, atol=0.05)


@pytest.mark.parametrize(("search", "fixed"), PAIRS)
def test_folds_choose_and_all_examples_train(search, fixed, data):
    X, y = data
    model = search(cs=CS, cv=3, **TIGHT).fit(X, y)
    np.testing.assert_allclose(model.alphas_, np.array(CS) / 150)
    expected = np.zeros(len(CS))
    for train, test in StratifiedKFold(3).split(X, y):
        for k, c in enumerate(CS):
            single = fixed(c / len(train), **TIGHT).fit(X[train], y[train])
            expected[k] += mean_loss(single, X[test], y[test]) * len(test) / len(y)
    np.testing.assert_allclose(model.validation_losses_, expected, atol=2.01 / 150)
    np.testing.assert_allclose(model.coef_, fixed(model.alpha_, **TIGHT).fit(X, y).coef_, atol=0.05)


@pytest.mark.parametrize(("search", "fixed"), PAIRS)
def test_folds_may_lack_a_class(search, fixed, data):
    X, y = data
    order = np.argsort(y, kind="stable")
    model = search(cs=CS, cv=KFold(3)).fit(X[order], y[order])
    assert model.classes_.tolist() == [0, 1, 2]
    assert (model.validation_losses_ > 0.5).all()


def test_equal_losses_go_to_the_largest_alpha():
    X = np.repeat([[-1.0], [1.0]], 20, axis=0)
    y = np.repeat([0, 1], 20)
    model = SVMClassifierCV(cs=(10, 1, 20, 5), cv=2).fit(X, y)
    assert not model.validation_losses_.any()
    assert model.alpha_ == pytest.approx(20 / 40)


def test_weight_zero_leaves_an_example_out_of_the_choice(data):
    X, y = data
    weights = np.ones(len(y))
    weights[::3] = 0
    folds = [(np.arange(75), np.arange(75, 150)), (np.arange(75, 150), np.arange(75))]
    model = LogisticClassifierCV(cs=CS, cv=folds, **TIGHT).fit(X, y, sample_weight=weights)
    kept = np.flatnonzero(weights)
    position = np.cumsum(weights).astype(int) - 1
    kept_folds = [tuple(position[part[weights[part] > 0]] for part in fold) for fold in folds]
    expected = LogisticClassifierCV(cs=CS, cv=kept_folds, **TIGHT).fit(X[kept], y[kept])
    np.testing.assert_allclose(model.alphas_, expected.alphas_)
    np.testing.assert_allclose(model.validation_losses_, expected.validation_losses_, atol=1.01 / 100)


def test_labels_unknown_in_training_count_as_wrong(data):
    X, y = data
    known = y < 2
    validation = (X, np.array(["a", "b", "new"])[y])
    model = LogisticClassifierCV(cs=CS).fit(X[known], np.array(["a", "b"])[y[known]], validation=validation)
    assert (model.validation_losses_ >= (~known).mean()).all()
    with pytest.raises(ValueError, match="was not seen in fit"):
        OrdinalSVMCV(cs=CS).fit(X[known], y[known], validation=(X, y))


@pytest.mark.parametrize(
    ("validation", "message"),
    [
        (3, "pair"),
        ((np.ones((2, 12)), [0, 1, 1]), "2 rows"),
        ((np.ones((2, 5)), [0, 1]), "features"),
        ((np.ones((2, 12)), ["0", "1"]), "labels of type"),
    ],
)
def test_malformed_validation_is_named(validation, message, data):
    with pytest.raises(ValueError, match=message):
        LogisticClassifierCV().fit(*data, validation=validation)


@pytest.mark.data
def test_letter_error_is_that_of_the_paper(uci_dir):
    """LETTER, the paper's 30/10/20 share of the examples: 23.3 % errors; c = 1 is chosen."""
    table = np.load(uci_dir / "letter.npz")
    order = np.random.default_rng(0).permutation(len(table["y"]))
    X, y = table["X"][order], table["classes"][table["y"]][order]
    train, val, test = slice(6000), slice(6000, 8000), slice(16000, None)
    X = StandardScaler().fit(X[train]).transform(X)
    model = LogisticClassifierCV().fit(X[train], y[train], validation=(X[val], y[val]))
    assert model.alpha_ == pytest.approx(1 / 6000)
    assert 1 - model.score(X[test], y[test]) == pytest.approx(0.233, abs=0.015)
    assert (np.diff(model.validation_losses_) > 0).all()
