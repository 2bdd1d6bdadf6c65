# SPDX-License-Identifier: Apache-2.0
"""TensorFlow's and TFLite's models as ONNX files, by tf2onnx, an optional converter that runs as a process of its own: TensorFlow is imported there alone."""
import importlib.util
import pathlib
import subprocess
import sys

from optima._bad_input import bad_input
from optima.errors import Error

WHEELS = ("tensorflow", "tf2onnx")
INSTALL = f"{sys.executable} -m pip install {' '.join(WHEELS)}"


def missing():
    """The wheels that are not installed in this Python. Imports nothing."""
    return [name for name in WHEELS if importlib.util.find_spec(name) is None]


def to_onnx(platform, given, inputs, outputs, folder):
    """The ONNX file, in the folder, of a SavedModel's folder or a frozen graph ("tensorflow"), or of a .tflite file ("tflite"). inputs, outputs: names
    of tensors, which only a frozen graph needs; its ONNX file calls them as they are called here, ":0" or not. Tensors lie as in the model. Raises
    optima.Error, also where the converter is not installed."""
    path = checked_path(platform, given)
    words = model_words(platform, path, inputs, outputs)
    absent = missing()
    if absent:
        raise Error(f"platform {platform!r} wants an optional converter, and {' and '.join(absent)} {'is' if len(absent) == 1 else 'are'} not installed: {INSTALL}", "usage")
    target = pathlib.Path(folder) / "model.onnx"
    ran = subprocess.run([sys.executable, "-m", "tf2onnx.convert", *words, "--output", str(target)], stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
    if ran.returncode or not target.is_file():
        lines = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
        raise bad_input(f"model {str(path)!r}: tf2onnx does not convert it: {lines[-1] if lines else f'it ended with {ran.returncode}'}")
    return target


def checked_path(platform, given):
    wanted = "a SavedModel's folder or a frozen graph (.pb)" if platform == "tensorflow" else "a .tflite file"
    if not isinstance(given, (str, pathlib.Path)):
        raise bad_input(f"model is a {type(given).__name__}, wanted the path of {wanted}")
    path = pathlib.Path(given).expanduser().absolute()
    if not path.is_file() and not (platform == "tensorflow" and (path / "saved_model.pb").is_file()):
        raise bad_input(f"model {str(path)!r} is {'a folder' if path.is_dir() else 'not there'}, wanted {wanted}")
    return path


def model_words(platform, path, inputs, outputs):
    if platform == "tflite":
        return ["--tflite", str(path)]
    if path.is_dir():
        return ["--saved-model", str(path)]
    if not inputs or not outputs:
        raise bad_input(f"model {str(path)!r} is a frozen graph, wanted the names of its input_tensors and outputs, which it does not tell")
    return ["--graphdef", str(path), "--inputs", tensors(inputs), "--outputs", tensors(outputs), "--rename-inputs", ",".join(inputs), "--rename-outputs", ",".join(outputs)]


def tensors(names):
    """As TensorFlow calls them: a name alone is an operation's first output."""
    return ",".join(name if ":" in name else f"{name}:0" for name in names)
