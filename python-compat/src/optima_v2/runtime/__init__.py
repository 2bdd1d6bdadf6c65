# SPDX-License-Identifier: Apache-2.0
"""OptimaV2's runtime for Python, on optima.runtime: its names, and what they mean there (docs/decisions/0014-the-earlier-runtime-keeps-its-meanings.md).

    import optima_v2.runtime as rt

    context = rt.Context(verbosity=rt.LogLevel.Info)
    request = context.load_model("out/model").create_request()
    request.set_inputs({"image": image})
    request.infer()
    request.wait()                                  # wait(100): True = not over after 100 ms
    (answer,) = request.get_outputs()

What is raised is an optima.Error, too. New programs are better off with optima.runtime.
"""
from optima_v2.runtime._context import Context
from optima_v2.runtime._errors import (BackendException, Exception, InferException, InitializationFailedException, InvalidArgumentException, InvalidExtensionException,
                                       InvalidModelException, InvalidOperationException, OutOfResourceException, UnsupportedModelException)
from optima_v2.runtime._infos import DeviceInfo, ProfileData, TensorInfo
from optima_v2.runtime._kinds import DeviceKind, ElementType, FrameworkKind, LogLevel, ProfileKind, get_element_size, is_device_cpu, is_device_gpu, is_device_npu
from optima_v2.runtime._model import Model
from optima_v2.runtime._request import InferRequest
from optima_v2.runtime._tensor import Tensor

__all__ = ["BackendException", "Context", "DeviceInfo", "DeviceKind", "ElementType", "Exception", "FrameworkKind", "InferException", "InferRequest",
           "InitializationFailedException", "InvalidArgumentException", "InvalidExtensionException", "InvalidModelException", "InvalidOperationException", "LogLevel", "Model",
           "OutOfResourceException", "ProfileData", "ProfileKind", "Tensor", "TensorInfo", "UnsupportedModelException", "get_element_size", "is_device_cpu", "is_device_gpu",
           "is_device_npu"]
