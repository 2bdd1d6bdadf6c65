#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Stands in for the programs of Qualcomm's SDK, which cannot be had without an account. Called by the name of one of them it checks that its
environment and its flags are those that the public documents state (80-63442-2 Rev BL, "Tools"; 80-63442-10), reads what it is to read, and
writes a file that says what it was made of. $SNPE_ROOT/mode.NAME tells it to fail in one of the ways that tools fail in. Where $SNPE_ROOT/true_form holds
the lines PYTHON and SCRIPT, files have the true form: that script (true_form.py) makes them with the wheels."""
import json
import os
import signal
import subprocess
import sys
import time

TOOL = os.path.basename(sys.argv[0])
ROOT = os.environ.get("SNPE_ROOT", "")
QUANT = {"--input_dlc": 1, "--output_dlc": 1, "--input_list": 1, "--act_bitwidth": 1, "--weights_bitwidth": 1, "--bias_bitwidth": 1,
         "--use_per_channel_quantization": 0, "--use_per_row_quantization": 0}
FLAGS = {  # and how many words follow each
    "snpe-onnx-to-dlc": {"--input_network": 1, "--output_path": 1, "--out_node": 1, "--quantization_overrides": 1, "--float_bitwidth": 1,
                         "--preserve_io": 1, "--keep_quant_nodes": 0, "--dry_run": 1, "--validation_target": 2},
    "qairt-converter": {"--input_network": 1, "--output_path": 1, "--out_tensor_node": 1, "--quantization_overrides": 1, "--float_bitwidth": 1,
                        "--target_backend": 1, "--dry_run": 1},
    "snpe-dlc-quant": {**QUANT, "--float_fallback": 0, "--override_params": 0},
    "snpe-dlc-quantize": {**QUANT, "--float_fallback": 0, "--override_params": 0},
    "qairt-quantizer": {**QUANT, "--enable_float_fallback": 0, "--preserve_io_datatype": 0},
    "snpe-dlc-graph-prepare": {"--input_dlc": 1, "--output_dlc": 1, "--htp_socs": 1, "--set_output_tensors": 1},
    "snpe-dlc-info": {"-i": 1},
}


def fail(text):
    print(f"stand-in {TOOL}: {text}", file=sys.stderr)
    sys.exit(9)


def read(name):
    path = os.path.join(ROOT, name)
    return open(path).read() if os.path.exists(path) else ""


def check_environment():
    for variable, folder in (("PATH", "bin/x86_64-linux-clang"), ("PYTHONPATH", "lib/python"), ("LD_LIBRARY_PATH", "lib/x86_64-linux-clang")):
        if os.environ.get(variable, "").split(":")[0] != os.path.join(ROOT, folder):
            fail(f"{variable} does not begin with {folder}")


def check_flags(words):
    given = {}
    while words:
        flag = words.pop(0)
        count = FLAGS[TOOL].get(flag)
        if count is None or len(words) < count:
            print(f"{TOOL}: error: unrecognized arguments: {flag}", file=sys.stderr)
            sys.exit(2)
        given.setdefault(flag, []).append(words[:count])
        del words[:count]
    return {flag: [value[0] if len(value) == 1 else value for value in values] for flag, values in given.items()}


def behave(mode, given):
    if mode == "fail":
        print("stand-in says: the graph is beyond me", file=sys.stderr)
        sys.exit(1)
    if mode == "crash":
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "hang":
        os.system("sleep 600 & echo $! > '%s'" % os.path.join(ROOT, "sleeper"))
        time.sleep(600)
    if mode == "noise":
        for k in range(6000):
            print("noise", k, "x" * 40, file=sys.stderr if k % 2 else sys.stdout)
    if mode.startswith("say "):
        print(mode[4:])
    if mode == "no target" and "--validation_target" in given:
        print(f"{TOOL}: error: argument --validation_target: invalid choice: 'sm8550'", file=sys.stderr)
        sys.exit(2)
    if mode.startswith("refuse "):
        print(mode[7:], file=sys.stderr)
        sys.exit(1)


def made_of(given):
    out = {"tool": TOOL}
    for flag, values in given.items():
        path = values[0]
        if flag in ("--input_network", "--input_dlc"):
            out["from"] = json.load(open(path)) if flag == "--input_dlc" else len(open(path, "rb").read())
        if flag == "--quantization_overrides":
            out["overrides"] = json.load(open(path))
        if flag == "--input_list":
            lines = open(path).read().splitlines()
            out["samples"] = [[os.path.getsize(word.split(":=")[-1]) for word in line.split()] for line in lines]
            out["names"] = [word.split(":=")[0] for word in lines[0].split() if ":=" in word]
    return out


def make_true(given, product, mode):
    made = subprocess.run([*read("true_form").split("\n")[:2], TOOL, json.dumps(given), ROOT])
    if made.returncode != 0:
        sys.exit(made.returncode)
    if mode == "half":
        os.truncate(product[0], os.path.getsize(product[0]) // 2)
        os.kill(os.getpid(), signal.SIGSEGV)
    if mode == "truncated":
        os.truncate(product[0], os.path.getsize(product[0]) // 2)


def main():
    check_environment()
    if sys.argv[1:] == ["--version"]:
        print(read("version") or "stand-in of SNPE v2.22.6.240515")
        return
    with open(os.path.join(ROOT, "calls"), "a") as calls:
        calls.write(" ".join([TOOL] + sys.argv[1:]) + "\n")
    given = check_flags(sys.argv[1:])
    mode = read("mode." + TOOL).strip()
    behave(mode, given)
    product = given.get("--output_path") or given.get("--output_dlc")
    if read("true_form") and "--dry_run" not in given and mode not in ("no file", "empty"):
        make_true(given, product, mode)
    elif TOOL == "snpe-dlc-info":
        json.load(open(given["-i"][0]))
        print(read("info"))
        return
    elif product and mode != "no file":
        with open(product[0], "w") as file:
            if mode != "empty":
                json.dump(made_of(given), file)
    if mode != "silent":
        print({"snpe-onnx-to-dlc": "INFO_CONVERSION_SUCCESS: Conversion completed successfully", "snpe-dlc-quantize": "[INFO] Saved quantized dlc to: x"}.get(TOOL, "done"), file=sys.stderr)


main()
