# SPDX-License-Identifier: Apache-2.0
"""Bodies of inference requests and answers: the Open Inference Protocol's JSON, and its binary tensor data extension."""
import dataclasses
import json
import math

import numpy as np

from optima._bad_input import bad_input

DATATYPES = {"bool": "BOOL", "float16": "FP16", "float32": "FP32", "float64": "FP64", "bfloat16": "BF16",
             **{f"{sign}int{bits}": f"{sign.upper()}INT{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}}
HEADER = "Inference-Header-Content-Length"


@dataclasses.dataclass
class Asked:
    """A request: arrays by name; names of wanted outputs, of those that come as bytes; its id, which may be None."""
    arrays: dict
    outputs: list
    binary: set
    id: str | None


def dtype_of(name):
    """The numpy dtype of a type that the protocol has. Raises optima.Error."""
    if name not in DATATYPES:
        raise bad_input(f"tensors of {name} have no datatype in the protocol, wanted one of {', '.join(DATATYPES)}")
    if name != "bfloat16":
        return np.dtype(name)
    try:
        import ml_dtypes
    except ImportError as error:
        raise bad_input("tensors of bfloat16 need ml_dtypes, wanted it installed (pip install ml_dtypes)") from error
    return np.dtype(ml_dtypes.bfloat16)


def decode(body, header_length, inputs, outputs):
    """A body as Asked. header_length: the value of HEADER, or None; inputs, outputs: ports of the model ({name, dtype, shape}).
    Raises optima.Error for all that is not as the protocol wants it; whether types and shapes are the model's is not looked at."""
    size = _header_size(header_length, len(body))
    try:
        document = json.loads(bytes(body[:size]), parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise bad_input(f"the request is no JSON: {error}") from error
    _want(isinstance(document, dict) and isinstance(document.get("inputs"), list), "the request has no list 'inputs', wanted an object with one")
    arrays, data = {}, memoryview(body)[size:]
    for entry in document["inputs"]:
        name, datatype, shape = _head(entry)
        _want(name not in arrays, f"input {name!r} is given twice, wanted it once")
        arrays[name], data = _array(entry, name, datatype, shape, data)
    _want(not data, f"the request has {len(data)} bytes more than its inputs say, wanted none")
    known = {port["name"] for port in inputs}
    for name in arrays:
        _want(name in known, f"no input {name!r}, wanted {', '.join(map(repr, sorted(known)))}")
    wanted, binary = _outputs(document, [port["name"] for port in outputs])
    identity = document.get("id")
    _want(identity is None or isinstance(identity, str), "'id' is no string, wanted one")
    return Asked(arrays, wanted, binary, identity)


def encode(model, version, asked, answers):
    """(body, length of its JSON where bytes follow, else None) of an answer. Raises optima.Error for values that JSON does not hold."""
    outputs, data = [], []
    for name in asked.outputs:
        array = answers[name]
        entry = {"name": name, "datatype": DATATYPES[array.dtype.name], "shape": list(array.shape)}
        if name in asked.binary:
            data.append(np.ascontiguousarray(array).tobytes())
            entry["parameters"] = {"binary_data_size": len(data[-1])}
        else:
            entry["data"] = _listed(name, array)
        outputs.append(entry)
    document = {"model_name": model, "model_version": version, "outputs": outputs}
    if asked.id is not None:
        document["id"] = asked.id
    text = json.dumps(document).encode()
    return b"".join([text, *data]), len(text) if asked.binary else None


def _want(fits, text):
    if not fits:
        raise bad_input(text)


def _no_constant(word):
    raise ValueError(f"{word} is no number of JSON, wanted it as binary data")


def _header_size(given, length):
    if given is None:
        return length
    _want(given.isascii() and given.isdigit() and len(given) < 16 and int(given) <= length,
          f"{HEADER} is {given!r:.40}, wanted a number of bytes up to the body's {length}")
    return int(given)


def _head(entry):
    _want(isinstance(entry, dict) and isinstance(entry.get("name"), str), "an input has no 'name', wanted an object with one")
    name, datatype, shape = entry["name"], entry.get("datatype"), entry.get("shape")
    _want(isinstance(datatype, str) and datatype in DATATYPES.values(), f"input {name!r} has datatype {datatype!r:.40}, wanted one of {', '.join(DATATYPES.values())}")
    _want(isinstance(shape, list) and all(type(d) is int and 0 <= d < 1 << 48 for d in shape) and len(shape) <= 64,
          f"input {name!r} has shape {shape!r:.60}, wanted a list of sizes")
    return name, dtype_of(next(n for n, d in DATATYPES.items() if d == datatype)), shape


def _array(entry, name, dtype, shape, data):
    """The array of an input, and the bytes behind it."""
    count, parameters = math.prod(shape), entry.get("parameters") or {}
    _want(isinstance(parameters, dict), f"input {name!r} has parameters that are no object, wanted one")
    _not_shared(f"input {name!r}", parameters)
    size = parameters.get("binary_data_size")
    if size is None:
        return _of_list(name, entry.get("data"), dtype, count).reshape(shape), data
    _want("data" not in entry, f"input {name!r} has both data and binary_data_size, wanted one of them")
    _want(type(size) is int and size == count * dtype.itemsize, f"input {name!r} has {size!r:.40} bytes, wanted {count * dtype.itemsize} for its shape {shape}")
    _want(size <= len(data), f"the request ends inside input {name!r}: {len(data)} bytes are left, wanted {size}")
    _want(dtype.kind != "b" or not size or np.frombuffer(data[:size], np.uint8).max() <= 1, f"input {name!r} has bytes that are no BOOL, wanted 0 and 1")
    return np.frombuffer(data[:size], dtype).reshape(shape), data[size:]


def _not_shared(of, parameters):
    for key in parameters:
        _want(not key.startswith("shared_memory"), f"{of} has parameter {key!r:.60}, and shared memory is not served, wanted its data in the body")


def _of_list(name, data, dtype, count):
    _want(isinstance(data, list), f"input {name!r} has no data, wanted a list or binary_data_size")
    try:
        read = np.asarray(data).reshape(-1)
        if dtype.kind in "iu" and read.dtype.kind in "fO":
            read = _whole_numbers(data)
    except (ValueError, OverflowError, RecursionError) as error:
        raise bad_input(f"input {name!r} has lists of different lengths, wanted {count} numbers") from error
    _want(read.size == count, f"input {name!r} has {read.size} elements, wanted {count} for its shape")
    if not read.size:
        return np.empty(0, dtype)
    kinds = {"b": "b", "i": "iu", "u": "iu"}.get(dtype.kind, "iuf")
    _want(read.dtype.kind in kinds, f"input {name!r} has elements that are no {DATATYPES[dtype.name]}, wanted {'true and false' if kinds == 'b' else 'numbers of it'}")
    if kinds == "iu":
        limits = np.iinfo(dtype)
        _want(int(read.min()) >= limits.min and int(read.max()) <= limits.max, f"input {name!r} has numbers beyond {DATATYPES[dtype.name]}, wanted {limits.min} to {limits.max}")
    with np.errstate(over="ignore"):
        made = read.astype(dtype)
    _want(kinds != "iuf" or np.isfinite(made).all(), f"input {name!r} has numbers beyond {DATATYPES[dtype.name]}, wanted finite ones")
    return made


def _whole_numbers(data):
    """Of lists that numpy makes floats of, though they may hold 64-bit integers alone: those beyond int64 beside others within it."""
    read = np.asarray(data, object).reshape(-1)
    if all(type(value) is int and value < 1 << 64 for value in read) and min(read, default=0) >= 0:
        return read.astype(np.uint64)
    return read


def _outputs(document, names):
    """Names of the wanted outputs, and of those among them that come as bytes."""
    parameters, entries = document.get("parameters") or {}, document.get("outputs")
    _want(isinstance(parameters, dict), "'parameters' is no object, wanted one")
    everything = parameters.get("binary_data_output", False)
    _want(entries is None or isinstance(entries, list), "'outputs' is no list, wanted one")
    wanted, binary = [], set()
    for entry in entries or [{"name": name} for name in names]:
        _want(isinstance(entry, dict) and entry.get("name") in names, f"no output {entry.get('name') if isinstance(entry, dict) else entry!r:.60}, wanted {', '.join(map(repr, names))}")
        name, own = entry["name"], entry.get("parameters") or {}
        _want(name not in wanted, f"output {name!r} is wanted twice, wanted it once")
        _want(isinstance(own, dict) and "classification" not in own, f"output {name!r} has parameters that are not served, wanted binary_data alone")
        _not_shared(f"output {name!r}", own)
        wanted.append(name)
        if own.get("binary_data", everything):
            binary.add(name)
    return wanted, binary


def _listed(name, array):
    flat = array.reshape(-1)
    if flat.dtype.kind not in "biu":
        flat = flat.astype(np.float64)
        _want(np.isfinite(flat).all(), f"output {name!r} has infinities or NaN, which JSON does not hold, wanted it as binary_data")
    return flat.tolist()
