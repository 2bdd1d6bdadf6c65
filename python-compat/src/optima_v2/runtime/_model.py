# SPDX-License-Identifier: Apache-2.0
"""Models: loaded packages."""
from __future__ import annotations

from optima import runtime as now
from optima_v2.runtime._errors import InitializationFailedException, index_of, raised_as
from optima_v2.runtime._infos import TensorInfo
from optima_v2.runtime._request import InferRequest


class Model:
    """A loaded package, made by Context.load_model. input_tensor_info is input_tensors_info; the guide calls it so."""

    def __init__(self, model: now.Model) -> None:
        self._now = model
        self._inputs, self._outputs = ([TensorInfo._of(info) for info in infos] for infos in (model.inputs, model.outputs))

    def create_request(self) -> InferRequest:
        with raised_as(InitializationFailedException):
            return InferRequest(self._now.create_request(), self._inputs, self._outputs)

    def get_input_tensor_info(self, index: int | str = 0) -> TensorInfo:
        """By number or name. Raises IndexError, ValueError."""
        return self._inputs[index_of(index, [info.name for info in self._inputs], "input")]

    def get_output_tensor_info(self, index: int | str = 0) -> TensorInfo:
        """By number or name. Raises IndexError, ValueError."""
        return self._outputs[index_of(index, [info.name for info in self._outputs], "output")]

    @property
    def input_tensors_info(self) -> list[TensorInfo]:
        return list(self._inputs)

    @property
    def output_tensors_info(self) -> list[TensorInfo]:
        return list(self._outputs)

    @property
    def input_tensor_count(self) -> int:
        return len(self._inputs)

    @property
    def output_tensor_count(self) -> int:
        return len(self._outputs)

    @property
    def subgraph_info(self) -> tuple[now.SubgraphInfo, ...]:
        """As optima.runtime tells them; the earlier runtime had nothing here."""
        return self._now.subgraphs

    input_tensor_info, output_tensor_info = input_tensors_info, output_tensors_info
