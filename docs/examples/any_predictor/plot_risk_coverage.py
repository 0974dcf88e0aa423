"""
Risk-coverage curves: which score ranks best?
=============================================

A score orders predictions from certain to uncertain. Accept the first k of n: their mean loss is the
*risk*, k/n the *coverage*. The curve over all k shows how good a score is for any target, and its mean is the
AuRC. Here: three scores for one random forest on noisy handwritten digits.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from facereject.losses import zero_one_loss
from facereject.metrics import aurc
from facereject.plotting import RiskCoverageDisplay
from facereject.scores import ConfidenceScore, SELEScoreCV, cross_fit

X, y = load_digits(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=4, size=X.shape)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=0)

# %%
# ``cross_fit`` trains predictor and score on the same examples: losses come from predictions on left-out
# folds. The default score reads the class probabilities of the forest and the losses of neighbours; the
# paper's linear score, as it is used here, sees the pixels alone.

forest = RandomForestClassifier(50, random_state=0)
fitted = cross_fit(forest, ConfidenceScore(), X_train, y_train, zero_one_loss, cv=2, random_state=0)
linear = fitted.with_score(SELEScoreCV(use_outputs=False), X_train)

# %%
# All of them rank the predictions of the same forest on the same test examples.

losses = zero_one_loss(y_test, fitted.estimator.predict(X_test))
uncertainty = {
    "maximum class probability": 1 - fitted.estimator.predict_proba(X_test).max(axis=1),
    "confidence and neighbours": fitted.uncertainty(X_test),
    "linear SELE of the pixels": linear.uncertainty(X_test),
}
for name, values in uncertainty.items():
    print(f"{name:26} AuRC {100 * aurc(losses, values):.2f} %")
print(f"{'no rejection':26} risk {100 * losses.mean():.2f} %")

# %%
# The dashed line is the best possible ranking of these losses (the oracle), the dotted one a random ranking.

RiskCoverageDisplay.from_predictions(losses, uncertainty, risk_label="share of wrong digits")
