# SPDX-License-Identifier: Apache-2.0
"""Caches of a fixed capacity, into which each step writes a row: tied from an output to an input they stay where they are, and hold what ONNX Runtime's hold."""
import ctypes

from support import *

sys.path.insert(0, str(ROOT / "bench"))
import optima_runtime  # noqa: E402

ROWS, HEADS, WIDTH = 24, 2, 16


def written(op, name, at):
    """Nodes by which rows `new` take their place in `past`: of a cache [batch, heads, rows, width]."""
    if op == "TensorScatter":
        return [node(op, ["past", "new", "pos"], [name], axis=2)]
    if op == "ScatterND":  # of one sample, rows first
        return [node("Reshape", ["pos", "column"], ["at"]), node(op, ["past", "at", "new"], [name])]
    return [node("Reshape", ["pos", "corner"], ["c"]), node("Shape", ["new"], ["s"]), node("Expand", ["c", "s"], ["at"]), node(op, ["past", "at", "new"], [name], axis=2)]


def decoder(op, capacity, more=(), ends=()):
    past, new = ([capacity, HEADS, WIDTH], [1, HEADS, WIDTH]) if op == "ScatterND" else ([1, HEADS, capacity, WIDTH], [1, HEADS, 1, WIDTH])
    nodes = [*written(op, "present", "pos"), node("MatMul", ["new", "turned"], ["y"]), node("Transpose", ["present"], ["turned"], perm=[0, 2, 1] if op == "ScatterND" else [0, 1, 3, 2]), *more]
    nodes.sort(key=lambda n: n.op_type == "MatMul")  # stable: made before it is read
    return model(nodes, [value("past", F, past), value("new", F, new), value("pos", I, [1])], [value("present"), value("y"), *ends],
                 [constant("corner", [1, 1, 1, 1]), constant("column", [1, 1])], opset=24, ir=10)


class Request(optima_runtime.Model):
    """A model's only request."""
    runtime = None

    def __init__(self, package, inputs, tied):
        Request.runtime = Request.runtime or optima_runtime.Runtime(BUILD)
        super().__init__(Request.runtime, package.folder / "out/m", 1, inputs)
        self.inputs = inputs
        if tied:
            self.call("optima_rt_request_tie", self.number("output", "present"), self.number("input", "past"))

    def call(self, name, *arguments):
        self.runtime.check(getattr(self.runtime.library, name)(self.request, *arguments, ctypes.byref(self.runtime.error)))

    def number(self, end, name):
        index = ctypes.c_uint32()
        self.runtime.check(getattr(self.runtime.library, f"optima_rt_model_find_{end}")(self.model, name.encode(), ctypes.byref(index), ctypes.byref(self.runtime.error)))
        return index.value

    def answers(self, given):
        """After a run with these inputs in place of those before."""
        self.set_inputs(given)
        self.run()
        return {name: self.output(self.number("output", name)) for name in ("present", "y")}

    def place(self, name):
        """Where an output lies."""
        tensor = optima_runtime.Tensor(struct_size=ctypes.sizeof(optima_runtime.Tensor))
        self.call("optima_rt_request_output", self.number("output", name), ctypes.byref(tensor))
        return tensor.data


class States(Case):
    def package(self, made):
        package = Package(made, device="llvm_cpu/X64:0")
        self.assertEqual(package.code, 0, package.said)
        return package

    def steps(self, made, tied, count=6):
        """Where the state is, and (found, wanted by ONNX Runtime) of both outputs, after each step."""
        session = onnxruntime.InferenceSession(made.SerializeToString(), providers=["CPUExecutionProvider"])
        shapes = {i.name: [d if isinstance(d, int) else ROWS for d in i.shape] for i in session.get_inputs()}
        past = theirs = np.zeros(shapes["past"], np.float32)
        given = {"past": past, "new": np.ones(shapes["new"], np.float32), "pos": np.array([0])}
        request = Request(self.package(made), given, tied)
        for step in range(count):
            given = {"new": np.full(shapes["new"], step + 1, np.float32), "pos": np.array([3 * step])}
            before = past.copy()
            found = request.answers(given if tied and step else {**given, "past": past})
            np.testing.assert_array_equal(past, before, "an input of the caller's was written to")
            wanted = dict(zip((o.name for o in session.get_outputs()), session.run(None, {**given, "past": theirs})))
            theirs = wanted["present"]
            past = past if tied else found["present"]
            yield request.place("present"), found, wanted

    def test_a_cache_that_is_tied_stays_where_it_is(self):
        for op in ("TensorScatter", "ScatterElements", "ScatterND"):
            for capacity in (ROWS, "capacity"):
                for tied in (True, False):
                    with self.subTest(op=op, capacity=capacity, tied=tied):
                        places = set()
                        for place, found, wanted in self.steps(decoder(op, capacity), tied):
                            np.testing.assert_array_equal(found["present"], wanted["present"])
                            self.close(found["y"], wanted["y"], "y")
                            places.add(place)
                        if tied:
                            self.assertEqual(len(places), 1, "the cache was copied from one place to another")

    def test_what_was_there_is_read_before_it_is_written_over(self):
        """Another node reads the old cache."""
        before = node("ReduceSum", ["past"], ["sum"], keepdims=0)
        for op in ("TensorScatter", "ScatterElements"):
            for capacity in (ROWS, "capacity"):
                with self.subTest(op=op, capacity=capacity):
                    package = self.package(decoder(op, capacity, [before], [value("sum", F, [])]))
                    given = {"past": np.zeros((1, HEADS, ROWS, WIDTH), np.float32), "new": np.ones((1, HEADS, 1, WIDTH), np.float32), "pos": np.array([0])}
                    request, total = Request(package, given, True), 0
                    for step in range(4):
                        given |= {"new": np.full((1, HEADS, 1, WIDTH), step + 1, np.float32), "pos": np.array([step])}
                        request.answers(given)
                        given.pop("past", None)
                        self.assertEqual(float(request.output(request.number("output", "sum"))), total)
                        total += (step + 1) * HEADS * WIDTH


if __name__ == "__main__":
    main()
