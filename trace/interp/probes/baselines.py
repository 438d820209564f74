"""What can be told from the texts alone, without looking inside the model."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import torch
from sklearn.feature_extraction.text import CountVectorizer
from torch import Tensor

_TOKEN = r"(?u)\w+|[^\w\s]"  # words and single marks, of any language


def text_features(texts: Sequence[str]) -> dict[str, Tensor]:
    """Features [n, …] by the name of the baseline.

    `bag of words` counts words and marks, `length` is log(1 + characters) and log(1 + words),
    `last token` is the last word or mark. Words that the training rows of a fold do not hold get
    no weight there, so the vocabulary may come from all rows. An empty text has no token.
    """
    tokens = [re.findall(_TOKEN, text.lower()) for text in texts]
    lengths = [
        [np.log1p(len(text)), np.log1p(len(of))] for text, of in zip(texts, tokens, strict=True)
    ]
    return {
        "bag of words": _counts(tokens),
        "length": torch.tensor(np.array(lengths), dtype=torch.float64),
        "last token": _counts([of[-1:] for of in tokens]),
    }


def _counts(tokens: Sequence[Sequence[str]]) -> Tensor:
    """How often each token occurs in each text, [n, tokens]; one column of zeros without any."""
    if not any(tokens):
        return torch.zeros(len(tokens), 1, dtype=torch.float64)
    counted = CountVectorizer(analyzer=list).fit_transform(tokens)
    return torch.from_numpy(counted.toarray().astype(np.float64))
