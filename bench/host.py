#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the host costs: import, plan and compile times, memory of importing a big model, cost of a cut, size of the runtime.

    .deps/py/bin/python scripts/make_models.py build/models
    .deps/py/bin/python bench/host.py build/release build/models [plan|compile|memory|cuts|size ...]

Times are the smallest of a few runs of the whole program's own clock (`--json`); memory is the largest RssAnon that
/proc/<pid>/status showed while the program ran.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time



def host(args, words, env=None):
    out = subprocess.run([args.build / "bin/optima-host", *map(str, words), "--json"], capture_output=True, text=True, env={**os.environ, **(env or {})})
    if out.returncode:
        sys.exit(out.stderr)
    return json.loads(out.stdout)


def plan(args):
    model = args.models / "resnet50.ts.onnx"
    runs = [host(args, ["plan", model])["timings"] for _ in range(7)]
    best = {k: min(r[k] for r in runs) for k in ("import_ms", "passes_ms", "plan_ms")}
    print(f"import and plan of ResNet-50: import {best['import_ms']:.0f} ms, passes {best['passes_ms']:.0f} ms, plan {best['plan_ms']:.1f} ms")


def compile_times(args):
    print(f"{'compile (ms)':16} {'cold, 1 job':>12} {'cold, 2 jobs':>13} {'warm, 1 job':>12} {'warm, 2 jobs':>13}")
    for model in sorted(args.models.glob("*.ts.onnx")):
        cells = []
        for jobs in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                words = ["compile", model, "-o", f"{folder}/out", "--jobs", jobs, "--require-device", "X64:0", "--force"]
                times = [host(args, words, {"XDG_CACHE_HOME": f"{folder}/cache"})["timings"]["compile_ms"] for _ in range(2)]
                cells.append(times)
        print(f"{model.name.split('.')[0]:16} {cells[0][0]:12.0f} {cells[1][0]:13.0f} {cells[0][1]:12.0f} {cells[1][1]:13.0f}", flush=True)


def big_model(folder):
    """3 GB of weights in a sparse file beside a model of 24 matrix products."""
    import onnx
    from onnx import TensorProto, helper
    n, layers = 5792, 24
    nodes, weights = [], []
    for k in range(layers):
        w = TensorProto(name=f"w{k}", data_type=TensorProto.FLOAT, dims=[n, n], data_location=TensorProto.EXTERNAL)
        for key, value in (("location", "weights.bin"), ("offset", str(k * n * n * 4)), ("length", str(n * n * 4))):
            w.external_data.add(key=key, value=value)
        weights.append(w)
        nodes.append(helper.make_node("MatMul", [f"x{k}", f"w{k}"], [f"x{k + 1}"], name=f"matmul_{k}"))
    value = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, n])
    graph = helper.make_graph(nodes, "big", [value("x0")], [value(f"x{layers}")], weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10), folder / "big.onnx")
    with open(folder / "weights.bin", "wb") as file:
        file.truncate(layers * n * n * 4)
    return folder / "big.onnx"


def rss_anon(pid):
    try:
        for line in open(f"/proc/{pid}/status"):
            if line.startswith("RssAnon"):
                return int(line.split()[1]) / 1024
    except FileNotFoundError:
        pass
    return 0


def memory(args):
    with tempfile.TemporaryDirectory() as folder:
        model = big_model(pathlib.Path(folder))
        start = time.time()
        process = subprocess.Popen([args.build / "bin/optima-host", "plan", model], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        most = 0
        while process.poll() is None:
            most = max(most, rss_anon(process.pid))
            time.sleep(0.005)
        print(f"import and plan of a model with 3.2 GB of external data: RssAnon at most {most:.0f} MB, {time.time() - start:.1f} s, exit code {process.returncode}")


def cuts(args):
    """The same model in more and more pieces of one device: what a subgraph boundary adds to a run."""
    model = args.models / "squeezenet.ts.onnx"
    with tempfile.TemporaryDirectory() as folder:
        names = [n["name"] for n in host(args, ["plan", model])["nodes"]]
        print(f"{'subgraphs':>9} {'run loop (us)':>14} {'per boundary (us)':>18}")
        for step in (len(names), 16, 4, 1):
            pins = {n: f"X64:{(i // step) % 2}" for i, n in enumerate(names)}
            path = pathlib.Path(folder) / "alloc.json"
            path.write_text(json.dumps(pins))
            made = host(args, ["compile", model, "-o", f"{folder}/out", "--force", "--alloc", path])
            result = host(args, ["bench", f"{folder}/out/squeezenet.ts", "--repeat", 200, "--threads", 1])
            loop = result["run_loop"]["p50"] * 1e3
            count = len(made["subgraphs"])
            print(f"{count:9} {loop:14.2f} {loop / count:18.3f}", flush=True)


def size(args):
    library = args.build / "lib/liboptima_runtime.so"
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["strip", "-o", f"{folder}/stripped.so", library], check=True)
        stripped = os.path.getsize(f"{folder}/stripped.so")
    code = "import ctypes,sys\ndef rss(): return [int(l.split()[1]) for l in open('/proc/self/status') if l.startswith('VmRSS')][0]\n" \
           "before=rss(); sys.path.insert(0, sys.argv[2]); from optima_runtime import Runtime\nmid=rss(); r=Runtime(sys.argv[1]); print(rss()-mid)"
    added = [int(subprocess.run([sys.executable, "-c", code, args.build, pathlib.Path(__file__).parent], check=True, capture_output=True, text=True).stdout)
             for _ in range(5)]
    print(f"liboptima_runtime.so: {stripped / 1000:.0f} KB stripped; loading it and scanning the plugin folder adds {statistics.median(added) / 1024:.1f} MB of RSS")


PARTS = {"plan": plan, "compile": compile_times, "memory": memory, "cuts": cuts, "size": size}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("models", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []])
    args = parser.parse_args()
    for part in args.parts or PARTS:
        PARTS[part](args)


if __name__ == "__main__":
    main()
