#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""optima.scale: cache and journal alone, then everything on one Ray cluster of two nodes on this machine, whose workers, and nodes that join, are killed too."""
import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
import subprocess
import sys
import threading
import time
from unittest import mock

import numpy as np
from support import BUILD, DIGITS, LOOKUP, ROWS, PackageTest, open_digits, run_page, unittest

import optima
from optima import scale
from optima.package import Package

REF = {"devices": ["REF:0"]}


def files(folder):
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in pathlib.Path(folder).rglob("*") if p.is_file()}


def make(arguments):
    job, cache = arguments
    return scale.compile_one(job, cache)


class Alone(PackageTest):
    """What needs no cluster."""

    def setUp(self):
        self.work = self.folder / self.id().rpartition(".")[2]
        self.work.mkdir()
        self.model = self.work / "rows.onnxtxt"
        self.model.write_text(ROWS)
        self.job = scale.Job(str(self.model), REF, "rows")

    def test_keys_are_of_all_that_makes_a_package(self):
        key = self.job.key()
        self.assertEqual(scale.Job(str(self.model), dict(REF), "rows").key(), key)
        self.assertNotEqual(scale.Job(str(self.model), {"devices": ["X64:0"]}, "rows").key(), key)
        alloc = self.work / "alloc.json"
        alloc.write_text("{}")
        job = scale.Job(str(self.model), {**REF, "allocation": str(alloc)}, "rows")
        before = job.key()
        alloc.write_text('{"*": "REF:0"}')
        self.assertNotEqual(job.key(), before)
        self.model.write_text(ROWS.replace("Tanh", "Relu"))
        self.assertNotEqual(self.job.key(), key)
        (self.work / "parts").mkdir()
        data = self.work / "parts/weights.data"
        data.write_bytes(b"1")
        self.model.write_text(ROWS + "\n# parts/weights.data")
        before = self.job.key()
        data.write_bytes(b"2")
        self.assertNotEqual(self.job.key(), before)

    def test_keys_are_of_program_plugins_processor_and_devices(self):
        from optima import _host
        from optima.scale import jobs
        key = self.job.key()
        with mock.patch.object(jobs, "processor", lambda: ["x86_64", "flags: sse2"]):
            self.assertNotEqual(self.job.key(), key)
        plugins = self.work / "plugins"
        plugins.mkdir()
        file = plugins / "optima_reference.so"
        shutil.copy(BUILD / "lib/optima/plugins" / file.name, file)
        chosen = scale.Job(self.job.model, {**REF, "plugins": [str(plugins)]}, "rows")
        self.addCleanup(jobs.maker.cache_clear)
        keys = {chosen.key()}
        file.write_bytes(file.read_bytes() + b" ")  # another build of the same version
        jobs.maker.cache_clear()
        keys.add(chosen.key())
        asked = _host.run_json

        def with_gpu(*words):
            return {**(said := asked(*words)), "devices": [*said["devices"], {"full_name": "x/GPU:0", "present": True}]}
        jobs.maker.cache_clear()
        with mock.patch.object(_host, "run_json", with_gpu):
            keys.add(chosen.key())
        self.assertEqual(len(keys), 3)

    def test_what_killed_makers_left_in_the_cache_goes(self):
        first = pathlib.Path(scale.compile_one(self.job, self.work / "cache")["package"])
        for name in (".new.killed", ".old.killed"):
            (first.parents[1] / name / "half").mkdir(parents=True)
        (first / "model.meta").unlink()
        scale.compile_one(self.job, self.work / "cache")
        self.assertEqual([p.name for p in (self.work / "cache").rglob(".*")], [])

    def test_workers_get_absolute_paths(self):
        from optima.scale.jobs import jobs_of
        (self.work / "alloc.json").write_text("{}")
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.work)
        (job,) = jobs_of(["rows.onnxtxt"], [{"allocation": "alloc.json", "plugins": ["."], "devices": ["REF:0"]}])
        self.assertEqual((job.model, job.options), (str(self.model), {"allocation": str(self.work / "alloc.json"), "plugins": [str(self.work)], "devices": ["REF:0"]}))

    def test_broken_entries_are_made_again(self):
        first = scale.compile_one(self.job, self.work / "cache")
        whole = files(first["package"])
        self.assertEqual((first["cached"], scale.compile_one(self.job, self.work / "cache")["cached"]), (False, True))
        package = pathlib.Path(first["package"])
        for harm in (lambda: (package / "model.meta").write_text("{}"), lambda: (package / "placement.json").unlink(),
                     lambda: (package / "more").write_text("x"), lambda: (package.parent / "entry.json").write_text("{"), lambda: (package.parent / "entry.json").unlink()):
            harm()
            again = scale.compile_one(self.job, self.work / "cache")
            self.assertEqual((again["cached"], files(again["package"])), (False, whole))
        self.assertEqual([p.name for p in (self.work / "cache").rglob(".*")], [])

    def test_many_makers_leave_one_whole_entry(self):
        with multiprocessing.get_context("spawn").Pool(3) as pool:
            made = pool.map(make, [(self.job, self.work / "cache")] * 6)
        self.assertEqual(len({m["package"] for m in made}), 1)
        self.assertIsNotNone(scale.Cache(self.work / "cache").find(self.job.key()))
        self.assertEqual(len(list((self.work / "cache").glob("*/*"))), 1)

    def test_a_journal_that_was_cut_off_goes_on(self):
        path = self.work / "jobs.jsonl"
        with scale.Journal(path) as journal:
            journal.add(self.job, "k1", state="done", package="p")
            journal.add(self.job, "k2", state="failed", error="e")
            self.fails("invalid_input", "being written by another process", scale.Journal, path)
        with open(path, "ab") as file:
            file.write(b'{"key": "k3", "na')
        with scale.Journal(path) as journal:
            self.assertEqual(journal.done, {"k1": "p"})
            journal.add(self.job, "k4", state="done", package="q")
        self.assertEqual([json.loads(line)["key"] for line in path.read_text().splitlines()], ["k1", "k2", "k4"])
        path.write_text("nonsense\n" + path.read_text())
        self.fails("invalid_input", "line 1 is none of a journal", scale.Journal, path)

    def test_bad_arguments_are_told_before_anything_starts(self):
        many = lambda models, targets, **more: scale.compile_many(models, targets, cache=self.work / "cache", **more)
        self.fails("invalid_input", "model '/nowhere.onnx' is no file", many, ["/nowhere.onnx"], [REF])
        self.fails("invalid_input", "target '' is a str", many, [self.model], ["X64:0"])
        self.fails("invalid_input", "which compile_many gives itself", many, [self.model], [{"output": "out"}])
        self.fails("invalid_input", "options that are no JSON", many, [self.model], [{"calibration": np.zeros(3)}])
        self.fails("invalid_input", "two models have one file name", many, [self.model, self.model], [REF])
        self.fails("invalid_input", "models has <function", many, [many], [REF])
        self.fails("invalid_input", "models has 3, wanted paths of ONNX files", many, 3, [REF])
        self.fails("invalid_input", "targets is None, wanted a list of dicts of options", many, self.model, None)
        for models, targets in (({"a/b": self.model}, [REF]), ([self.model], {"a/b": REF}), ({".a": self.model}, [REF]), ({"a" * 201: self.model}, [REF])):
            self.fails("invalid_input", "wanted models and targets whose names make one of 1 to 200 bytes without '/' and not starting with '.'", many, models, targets)
        self.fails("io", f"output {str(self.model / 'out')!r} cannot be written: ", many, [self.model], [REF], output=self.model / "out")
        self.assertEqual(many([], [REF], output=self.work / "out"), [])
        self.assertTrue((self.work / "out").is_dir())
        self.assertEqual([job.name for job in scale.jobs.jobs_of(self.model, [REF])], [self.model.stem])  # one path is one model
        self.fails("invalid_input", "is no folder that can be made", scale.Cache, self.model / "cache")
        with mock.patch.dict(os.environ, {"OPTIMA_HOST": "/nowhere"}):
            self.fails("plugin", "'/nowhere' is not there, wanted optima-host", self.job.key)

    def test_a_machine_that_does_not_see_the_callers_folders_says_so(self):
        cache = scale.Cache(self.work / "cache")
        identity = cache.identity()
        self.assertEqual((scale.Cache(cache.folder).identity(), scale.compile_one(self.job, cache.folder, identity)["cached"]), (identity, False))
        elsewhere = self.work / "elsewhere"
        self.fails("invalid_input", f"cache {str(elsewhere)!r} on node", scale.compile_one, self.job, elsewhere, identity)
        self.assertFalse(elsewhere.exists())
        self.assertNotEqual(scale.Cache(elsewhere).identity(), identity)  # a folder of the same name
        self.fails("invalid_input", "is not the caller's, wanted a folder that all nodes see under this path", scale.compile_one, self.job, elsewhere, identity)
        alloc = self.work / "alloc.json"
        for job, path in ((scale.Job(str(self.work / "none.onnx"), REF, "rows"), self.work / "none.onnx"), (scale.Job(str(self.model), {"allocation": str(alloc)}, "rows"), alloc)):
            self.fails("invalid_input", f"{str(path)!r} is not there on node", scale.compile_one, job, cache.folder, identity)
        self.fails("invalid_input", "is not there on node", scale.BatchPredictor(self.work / "none"), {"x": np.zeros((1, 4), np.float32)})

    def test_without_ray_its_wheel_is_named(self):
        program = f"""if True:
            import sys
            sys.modules["ray"] = None
            sys.path_importer_cache.clear()
            from optima import scale
            from optima.errors import Error
            for call in (lambda: scale.compile_many([{str(self.model)!r}], [dict(devices=["REF:0"])], cache={str(self.work / 'cache')!r}), lambda: scale.deployment("x")):
                try:
                    call()
                except Error as error:
                    print(error)"""
        said = subprocess.run([sys.executable, "-B", "-c", program], capture_output=True, text=True, check=True).stdout
        self.assertEqual(said.count("wanted the wheel by: pip install 'ray[data,serve]'"), 2, said)

    def test_a_predictor_is_its_arguments(self):
        package = self.package(DIGITS / "digits.onnx", "--alloc", DIGITS / "alloc_reference.json", name="digits")
        predictor = scale.BatchPredictor(package, inputs={"image": "scan"}, keep=["id"])
        scans = np.random.default_rng(4).random((5, 1, 32, 32), np.float32)
        got = predictor({"scan": scans, "id": np.arange(5), "more": np.zeros(5)})
        self.assertEqual(sorted(got), ["id", "probability"])
        self.assertEqual(got["probability"].tobytes(), b"".join(Package(package).run(image=scans[i:i + 1])["probability"].tobytes() for i in range(5)))
        again = pickle.loads(pickle.dumps(predictor))
        self.assertEqual(again({"scan": scans, "id": scans})["probability"].tobytes(), got["probability"].tobytes())
        self.fails("invalid_input", "the batch has no column 'scan' for input 'image'", again, {"scam": scans})


    def test_open_batches_on_the_processor_give_what_single_rows_give(self):
        from optima.scale._deployment import answers_of
        package = Package(self.package(open_digits(self.work / "any.onnx"), "--device", "X64:0", name="any"))
        random = np.random.default_rng(8)
        calls = [{"image": random.random((1 + i % 3, 1, 32, 32), np.float32)} for i in range(12)] + [{"image": np.zeros((1, 1, 32, 31), np.float32)}]
        *answers, refused = answers_of(package, calls)
        want = [package.run(call)["probability"] for call in calls[:-1]]
        self.assertEqual([answer["probability"].tobytes() for answer in answers], [answer.tobytes() for answer in want])
        self.assertIn("found float32[1, 1, 32, 31]", str(refused))
        scans = np.concatenate([call["image"] for call in calls[:-1]])
        self.assertEqual(scale.BatchPredictor(package.path)({"image": scans})["probability"].tobytes(), np.concatenate(want).tobytes())


def node_here():
    import ray
    return ray.get_runtime_context().get_node_id()


def until(path, what):
    """Waits for a file, as long as anybody has patience: workers of a new node take half a minute to start where the machine is busy."""
    for _ in range(3000):
        if pathlib.Path(path).exists():
            return
        time.sleep(0.05)
    raise AssertionError(f"{path} did not come: {what}")


def hold_processor(begun, end):
    """A task that has its processor until there is a file `end`."""
    pathlib.Path(begun).touch()
    until(end, "nothing ended the task")


class HeldPredictor(scale.BatchPredictor):
    """One that tells its node. On a node that is to die it stays in its second batch until it does; elsewhere none begins before that."""

    def __init__(self, package, doomed, held):
        super().__init__(package)
        self.doomed, self.held, self.batches = doomed, pathlib.Path(held), 0

    def __call__(self, batch):
        self.batches += 1
        node = node_here()
        if node != self.doomed:
            until(self.held, "the node that is to die had no two batches")
        elif self.batches == 2:
            self.held.touch()
            time.sleep(600)
        batch = {"x": batch["data"], "k": np.zeros((len(batch["data"]), 2), np.int64)}
        return {**super().__call__(batch), "node": np.full(len(batch["x"]), node)}


class OnRay(PackageTest):
    """Two nodes on this machine, each with processes and an object store of its own; tests that end one start it themselves."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        import ray
        import ray.data
        from ray.cluster_utils import Cluster
        cls.ray = ray
        small = {"object_store_memory": 100 << 20, "include_dashboard": False}
        soon = {"health_check_period_ms": 300, "health_check_failure_threshold": 10}  # a node without processes is told after 3 s, not 15; one that is slow has as long as ever
        cls.cluster = Cluster(initialize_head=True, head_node_args={**small, "num_cpus": 1, "_system_config": soon})
        cls.addClassCleanup(cls.cluster.shutdown)
        cls.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
        ray.init(address=cls.cluster.address, log_to_driver=False, logging_level="ERROR")
        cls.addClassCleanup(ray.shutdown)
        from ray import serve
        serve.start(proxy_location="Disabled", logging_config={"log_level": "ERROR"})
        cls.serve = serve
        cls.addClassCleanup(serve.shutdown)
        ray.data.DataContext.get_current().enable_progress_bars = False
        for name, text in (("rows", ROWS), ("lookup", LOOKUP), ("bad", ROWS.replace("Tanh", "Tahn"))):
            (cls.folder / f"{name}.onnxtxt").write_text(text)
        cls.models = [cls.folder / f"{name}.onnxtxt" for name in ("rows", "lookup", "bad")]

    def test_jobs_are_compiled_once_and_failures_are_told(self):
        where = {"cache": self.folder / "cache1", "journal": self.folder / "jobs1.jsonl", "output": self.folder / "out1"}
        targets = {"ref": REF, "sized": {**REF, "dim": {"N": 2}}}
        first = scale.compile_many(self.models, targets, **where)
        self.assertEqual([(r["name"], r["state"]) for r in first], [(f"{m}.{t}", "failed" if m == "bad" else "done") for m in ("rows", "lookup", "bad") for t in targets])
        self.assertIn("Tahn", first[-1]["error"])
        self.assertEqual(Package(self.folder / "out1/lookup.ref").run(i=np.array([2, 0]))["y"].tolist(), [[20, 21], [0, 1]])
        self.assertEqual(len(where["journal"].read_text().splitlines()), 6)
        again = scale.compile_many(self.models[:2], targets, **where)
        self.assertTrue(all(r["cached"] for r in again))
        self.assertEqual(len(where["journal"].read_text().splitlines()), 6)  # nothing was started

    def test_workers_that_are_killed_lose_nothing_and_do_nothing_twice(self):
        """The first compilation of each job kills the worker that waits for it."""
        folder = self.folder / "killed"
        folder.mkdir()
        host = folder / "host"
        host.write_text(f"""#!/bin/sh
case "$*" in *" -o "*)
  name=$(printf '%s' "$*" | sed 's/.*--name \\([^ ]*\\).*/\\1/')
  echo x >> "{folder}/$name.starts"
  if mkdir "{folder}/$name.first" 2>/dev/null; then kill -9 $PPID; exit 1; fi ;;
esac
exec {BUILD}/bin/optima-host "$@"
""")
        host.chmod(0o755)
        os.environ["OPTIMA_HOST"] = str(host)
        self.addCleanup(os.environ.pop, "OPTIMA_HOST")
        targets = [{**REF, "dim": {"N": n}} for n in (2, 3)]
        temporary = folder / "tmp"
        temporary.mkdir()
        env = {"env_vars": {"OPTIMA_HOST": str(host), "TMPDIR": str(temporary)}}
        results = scale.compile_many([self.models[0]], targets, cache=folder / "cache", journal=folder / "jobs.jsonl", runtime_env=env)
        self.assertEqual([r["state"] for r in results], ["done", "done"], results)
        lines = [json.loads(line) for line in (folder / "jobs.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(line["key"] for line in lines), sorted(r["key"] for r in results))  # each once
        self.assertEqual([len(p.read_text().split()) for p in folder.glob("*.starts")], [2, 2])  # killed, then done
        self.assertEqual([p for p in (folder / "cache").rglob(".*")], [])
        self.assertEqual(list(temporary.glob("optima_*")), [])
        for result in results:
            self.assertEqual(str(scale.Cache(folder / "cache").find(result["key"])), result["package"])
        # one whose worker dies every time fails alone, and is done by the next call
        for marker in folder.glob("*.first"):
            marker.rmdir()
        more = scale.compile_many(self.models[1:2], [REF], cache=folder / "cache", journal=folder / "jobs.jsonl", retries=0, runtime_env=env)
        self.assertEqual([r["state"] for r in more], ["failed"])
        self.assertIn("worker died", more[0]["error"])
        more = scale.compile_many(self.models[1:2], [REF], cache=folder / "cache", journal=folder / "jobs.jsonl", retries=0, runtime_env=env)
        self.assertEqual((more[0]["state"], more[0]["cached"]), ("done", False))

    def doomed_node(self):
        """A third node that has done a task, and what ends it with all its processes at once. On a busy machine Ray's raylet may end before it did anything: then another one."""
        for _ in range(3):
            node = self.cluster.add_node(num_cpus=1, object_store_memory=100 << 20)
            ended = []

            def end(node=node, ended=ended):
                if not ended:
                    ended.append(True)
                    self.cluster.remove_node(node, allow_graceful=False)
            self.addCleanup(end)
            try:
                self.cluster.wait_for_nodes()
                self.assertEqual(self.ray.get(self.on(node.node_id, node_here).remote(), timeout=150), node.node_id)
                return node, end
            except (self.ray.exceptions.RayError, TimeoutError):
                end()
        raise AssertionError("no node stays")

    def on(self, node, function):
        """A task that takes the processor of that node alone."""
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy
        return self.ray.remote(function).options(num_cpus=1, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node, soft=False))

    def hold_others(self, node, folder, end):
        """Takes the processors of all other nodes until there is a file `end`."""
        others = [n["NodeID"] for n in self.ray.nodes() if n["Alive"] and n["NodeID"] != node]
        self.assertEqual(len(others), 2)
        for other in others:
            self.on(other, hold_processor).remote(str(folder / other), str(end))
        for other in others:
            until(folder / other, "the task did not begin")

    def test_a_node_that_dies_loses_no_job_and_does_none_twice(self):
        """A job on it waits until it dies. No other node has a processor free before, so that the first job comes to it."""
        folder = self.folder / "node"
        folder.mkdir()
        doomed, end = self.doomed_node()
        (raylet,) = doomed.all_processes["raylet"]
        raylet = raylet.process.pid  # workers have it in their environment
        host = folder / "host"
        host.write_text(f"""#!/bin/sh
case "$*" in *" -o "*)
  name=$(printf '%s' "$*" | sed 's/.*--name \\([^ ]*\\).*/\\1/')
  echo x >> "{folder}/$name.starts"
  if [ "$RAY_RAYLET_PID" = {raylet} ]; then
    touch "{folder}/held"
    while kill -0 $PPID 2>/dev/null; do sleep 0.05; done
    exit 1
  fi ;;
esac
exec {BUILD}/bin/optima-host "$@"
""")
        host.chmod(0o755)
        os.environ["OPTIMA_HOST"] = str(host)
        self.addCleanup(os.environ.pop, "OPTIMA_HOST")
        self.hold_others(doomed.node_id, folder, folder / "held")

        def end_when_held():
            try:
                until(folder / "held", "no job came to the node")
            finally:
                (folder / "held").touch()
                end()
        ender = threading.Thread(target=end_when_held)
        ender.start()
        where = {"cache": folder / "cache", "journal": folder / "jobs.jsonl", "runtime_env": {"env_vars": {"OPTIMA_HOST": str(host)}}}
        targets = [{**REF, "dim": {"N": n}} for n in range(1, 7)]
        results = scale.compile_many([self.models[0]], targets, **where)
        ender.join()
        self.assertEqual([r["state"] for r in results], ["done"] * 6, results)
        lines = [json.loads(line) for line in (folder / "jobs.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(line["key"] for line in lines), sorted(r["key"] for r in results))
        starts = sorted(len(p.read_text().split()) for p in folder.glob("*.starts"))
        self.assertEqual(starts, [1, 1, 1, 1, 1, 2])  # the one that was lost
        self.assertTrue(all(r["cached"] for r in scale.compile_many([self.models[0]], targets, **where)))
        self.assertEqual(sum(len(p.read_text().split()) for p in folder.glob("*.starts")), 7)

    def test_rows_go_through_two_nodes_and_outlive_one_of_them(self):
        data = self.ray.data
        package = self.package(ROWS, "--device", "REF:0", name="rows")
        node, end = self.doomed_node()
        doomed, held = node.node_id, self.folder / "held_batch"
        ender = threading.Thread(target=lambda: (until(held, "no batch came to the node"), end()))
        ender.start()
        x = np.random.default_rng(6).random((160, 4), np.float32)
        got = data.from_numpy(np.array_split(x, 20)).map_batches(HeldPredictor, fn_constructor_args=[str(package), doomed, str(held)], batch_size=8, num_cpus=1,
                                                                compute=data.ActorPoolStrategy(size=3)).take_all()  # on a processor each, so on all nodes
        ender.join()
        want = dict(zip((row.tobytes() for row in x), Package(package).run(x=x, k=np.zeros((160, 2), np.int64))["y"]))
        self.assertEqual(len(got), 160)
        self.assertEqual({row["x"].tobytes(): row["y"].tobytes() for row in got}, {key: y.tobytes() for key, y in want.items()})
        self.assertTrue(held.exists())  # it had a batch done and another begun
        self.assertTrue({row["node"] for row in got} - {doomed})

    def test_a_path_that_other_nodes_do_not_have_is_told(self):
        """A path below this very process's open files is nowhere else."""
        folder = os.open(self.folder, os.O_RDONLY)
        self.addCleanup(os.close, folder)
        here = f"/proc/self/fd/{folder}"
        (result,) = scale.compile_many([f"{here}/rows.onnxtxt"], [REF], cache=self.folder / "cache_seen")
        self.assertRegex(result["error"], f"^'{here}/rows.onnxtxt' is not there on node .*, wanted a path that all nodes see$")
        (result,) = scale.compile_many([self.models[0]], [REF], cache=f"{here}/cache_unseen")
        self.assertRegex(result["error"], f"^cache '{here}/cache_unseen' on node .* is not the caller's, wanted a folder that all nodes see under this path$")

    def test_data_goes_through_predictors_on_actors(self):
        data = self.ray.data
        package = self.package(ROWS, "--device", "REF:0", name="rows")
        random = np.random.default_rng(5)
        x, k = random.random((200, 4), np.float32), random.integers(-9, 9, (200, 2))
        rows = data.from_numpy([x[:90], x[90:]]).rename_columns({"data": "x"}).map_batches(lambda b: {**b, "k": (b["x"][:, :2] * 10).astype(np.int64)})
        got = rows.map_batches(scale.BatchPredictor, fn_constructor_args=[str(package)], batch_size=32, compute=data.ActorPoolStrategy(size=1)).take_all()
        want = Package(package).run(x=x, k=(x[:, :2] * 10).astype(np.int64))["y"]
        order = {row["x"].tobytes(): row["y"].tobytes() for row in got}
        self.assertEqual(len(got), 200)
        self.assertEqual(order, {a.tobytes(): y.tobytes() for a, y in zip(x, want)})

    def test_a_deployment_of_ray_serve(self):
        package = self.package(LOOKUP, "--device", "REF:0", name="lookup")
        app = scale.deployment(package, batch=4, delay_us=100000, ray_actor_options={"num_cpus": 0})
        self.addCleanup(self.serve.delete, "lookup")
        handle = self.serve.run(app, name="lookup", route_prefix=None)
        waits = [handle.remote({"i": np.array([i])}) for i in (0, 77, 2)]
        self.assertEqual((waits[0].result()["y"].tolist(), waits[2].result()["y"].tolist()), ([[0, 1]], [[20, 21]]))
        with self.assertRaisesRegex(Exception, "77"):
            waits[1].result()
        with self.assertRaisesRegex(Exception, "no input 'j'"):
            handle.remote({"j": np.array([0])}).result()

    def test_the_page_is_right(self):
        """On this cluster, which the page would start and end."""
        with mock.patch.object(self.ray, "init"), mock.patch.object(self.ray, "shutdown"), mock.patch.object(self.serve, "shutdown"):
            run_page(self, "scale.md", 3)


if __name__ == "__main__":
    unittest.main()
