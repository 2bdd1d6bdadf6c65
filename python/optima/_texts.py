# SPDX-License-Identifier: Apache-2.0
"""Texts of inputs and outputs, which devices see as codes: arrays of str are given and taken."""
from __future__ import annotations

from optima.errors import Error


class Codes:
    """The texts that a model knows at one input or output. Any thread."""

    def __init__(self, name: str, texts: list[str]) -> None:
        self._name, self._texts = name, texts
        self._codes = {text: code for code, text in enumerate(texts)}

    def of(self, value):
        """The int64 array of codes of an array of str (or of objects that are str); a text that the model does not know has the code behind the last."""
        import numpy as np
        array = np.asarray(value)
        texts = array.reshape(-1).tolist()
        for text in texts:
            if not isinstance(text, str):
                raise Error(f"input {self._name!r}: found an element {text!r:.60}, wanted str", "invalid_input")
        other = len(self._texts)
        return np.array([self._codes.get(text, other) for text in texts], dtype=np.int64).reshape(array.shape)

    def texts(self, codes):
        """The way back: an array of str."""
        import numpy as np
        if codes.size and not 0 <= codes.min() <= codes.max() < len(self._texts):
            raise Error(f"output {self._name!r}: found codes {codes.min()} to {codes.max()}, wanted 0 to {len(self._texts) - 1}", "invalid_input")
        return np.array(self._texts or [""], dtype=str)[codes]


def codes_of(infos) -> list[Codes | None]:
    """By number of the input or output; None for numbers."""
    listed = [info.texts for info in infos]
    return [None if texts is None else Codes(info.name, texts) for info, texts in zip(infos, listed)]
