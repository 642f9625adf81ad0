# SPDX-License-Identifier: Apache-2.0
"""E as scikit-learn likes it: fit, transform, get_params. scikit-learn need not be installed."""
import inspect

import numpy as np

from ._library import UseError, floats
from ._options import options as options_of
from ._train import fit

try:
    from sklearn.base import BaseEstimator, TransformerMixin
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    try:
        from sklearn.utils.validation import validate_data
    except ImportError:  # before 1.6

        def validate_data(estimator, X, **options):
            return estimator._validate_data(X, **options)

    FULL = True
except ImportError:
    FULL = False

    class NotFittedError(ValueError, AttributeError):
        """Call fit first."""

    class BaseEstimator:
        """get_params and set_params, enough for a copy."""

        @classmethod
        def _names(cls):
            return [name for name in inspect.signature(cls).parameters if name != "self"]

        def get_params(self, deep=True):
            return {name: getattr(self, name) for name in self._names()}

        def set_params(self, **params):
            for name, value in params.items():
                if name not in self._names():
                    raise ValueError(f"Invalid parameter {name!r}")
                setattr(self, name, value)
            return self

    class TransformerMixin:
        def fit_transform(self, X, y=None, **params):
            return self.fit(X, y, **params).transform(X)


OWN = ("preset", "copies", "options", "seed", "threads")
GROUPS = ("Trial", "Method", "Loss", "Data", "Optimiser")


def training_rows():
    """The options of train that say how an adapter is made from rows, rather than from what and where to."""
    return [row for row in options_of("train") if row.group in GROUPS and row.keyword not in (*OWN, "split", "decoder")]


TRAINING = tuple(row.keyword for row in training_rows())


class InvariantTransformer(TransformerMixin, BaseEstimator):
    """Learns E from clean features and augmented copies of them; transform applies it.

    fit(clean, copies): clean is [n, d], copies [n, c, d], [n, d] or a list of [n, d], row by row from the same images.
    In a pipeline, where only X is passed on, `copies` of the constructor is a function that makes copies of X.
    preset, seed and all other parameters, such as hidden=512, are the options of invar.fit, None for the default of the
    preset; so grids can search them. The dictionary options gives several at once. Whether E helps is what a pipeline's own
    validation measures, so that fit makes no trial unless trial=True or keep_structure ask for it.
    """

    def __init__(self, preset="instant", copies=None, options=None, seed=0, threads=0, **training):
        unknown = [name for name in training if name not in TRAINING]
        if unknown:
            raise TypeError(f"InvariantTransformer() got an unexpected keyword argument {unknown[0]!r}")
        for name in TRAINING:
            setattr(self, name, training.get(name))
        self.preset = preset
        self.copies = copies
        self.options = options
        self.seed = seed
        self.threads = threads

    def _rows(self, X, reset):
        if FULL:
            return validate_data(self, X, reset=reset, dtype=np.float32, order="C", ensure_min_samples=2 if reset else 1)
        X = floats(X, "X", 2)
        if reset:
            self.n_features_in_ = X.shape[1]
        elif X.shape[1] != self.n_features_in_:
            raise ValueError(f"X has {X.shape[1]} features, but this transformer expects {self.n_features_in_}")
        return X

    def _copies(self, X, y):
        if self.copies is not None:
            return self.copies(X)  # y, if any, are labels, which are not needed
        if y is None or (not isinstance(y, (list, tuple)) and np.ndim(y) < 2):
            raise UseError("fit needs augmented copies, fit(clean, copies), or copies= of the constructor, a function "
                           "that makes them: without copies there is nothing to be invariant to; requires y to be "
                           "passed, but the target y is None" if y is None else
                           "fit needs augmented copies [n, c, d] or [n, d] as its second argument, not labels")
        return y

    def _options(self):
        given = {name: getattr(self, name) for name in TRAINING if getattr(self, name) is not None}
        for name in self.options or {}:
            if name in given:
                raise UseError(f"{name} is a parameter and also in options; leave one of them out")
        given = {**(self.options or {}), **given}
        return given if given.get("keep_structure") else {"trial": False, **given}

    def fit(self, X, y=None):
        """X: clean features [n, d]; y: copies of them."""
        X = self._rows(X, True)
        self.adapter_ = fit(X, self._copies(X, y), threads=self.threads, progress=False, preset=self.preset, seed=self.seed,
                            **self._options())
        return self

    def transform(self, X):
        """E of features [n, d]."""
        if FULL:
            check_is_fitted(self, "adapter_")
        elif not hasattr(self, "adapter_"):
            raise NotFittedError("this InvariantTransformer is not fitted yet; call fit first")
        return self.adapter_(self._rows(X, False))

    def get_feature_names_out(self, input_features=None):
        if not hasattr(self, "adapter_"):
            raise NotFittedError("this InvariantTransformer is not fitted yet; call fit first")
        return np.array([f"invariant{i}" for i in range(self.adapter_.output)], object)

    def _more_tags(self):
        """scikit-learn before 1.6."""
        return {"preserves_dtype": ["float32"], "requires_y": self.copies is None}

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float32"]
        tags.target_tags.required = self.copies is None
        return tags


# scikit-learn takes the names of parameters from here, and has no use for **training.
SIGNATURE = inspect.signature(InvariantTransformer.__init__)
InvariantTransformer.__init__.__signature__ = SIGNATURE.replace(
    parameters=[p for p in SIGNATURE.parameters.values() if p.kind is not p.VAR_KEYWORD]
    + [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None) for name in TRAINING])
