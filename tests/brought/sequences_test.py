# SPDX-License-Identifier: Apache-2.0
"""Sequences and optionals, compiled as people do, without naming a device: they are gone before a device is asked, and the answers are ONNX Runtime's."""
import torch

from support import *

T, S = helper.make_tensor_type_proto, helper.make_sequence_type_proto


def listed(name, dtype=F, shape=None):
    return helper.make_value_info(name, S(T(dtype, shape)))


def maybe(name, dtype=F, shape=None):
    return helper.make_value_info(name, helper.make_optional_type_proto(T(dtype, shape)))


def loop(nodes, outputs, *carried):
    return graph([node("Identity", ["ci"], ["co"]), *nodes], [value("co", B, []), *outputs], [value("i", I, []), value("ci", B, []), *carried])


def flat(given):
    """Tensors by name: those of a sequence as name[0], name[1] and so on."""
    out = {}
    for name, what in given.items():
        out.update({f"{name}[{k}]": t for k, t in enumerate(what)} if isinstance(what, list) else {} if what is None else {name: what})
    return out


class Sequences(Case):
    def gone(self, what, made, *inputs, options=(), stacks=()):
        """As ONNX Runtime says, for all of these inputs; no operator on sequences is left. `stacks`: outputs that are all the tensors in one."""
        package = Package(made, *options, device=None)
        self.assertEqual(package.code, 0, f"{what}: {package.said}")
        plan = json.loads((package.folder / "out/m/placement.json").read_text())
        self.assertFalse([n["op"] for n in plan["nodes"] if "Sequence" in n["op"] or "Optional" in n["op"]], what)
        session = onnxruntime.InferenceSession(str(package.file), providers=["CPUExecutionProvider"])
        for given in inputs:
            found = package.run(flat(given))
            self.assertIsInstance(found, dict, f"{what}: {found}")
            names = [o.name for o in session.get_outputs()]
            wanted = {n: np.stack(w) if n in stacks else w for n, w in zip(names, session.run(None, given))}
            self.assertEqual(sorted(found), sorted(flat(wanted)), what)
            for name, answer in flat(wanted).items():
                self.close(found[name], np.asarray(answer), f"{what}: {name}")
        return package

    def refused(self, made, *sentences, options=()):
        package = Package(made, *options, device=None)
        self.assertNotEqual(package.code, 0, "it compiled")
        for sentence in sentences:
            self.assertIn(sentence, package.said)

    def test_pieces_by_position_number_and_all_together(self):
        nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=1), node("SequenceAt", ["s", "back"], ["last"]), node("SequenceLength", ["s"], ["n"]),
                 node("SequenceErase", ["s", "one"], ["t"]), node("SequenceInsert", ["t", "x", "one"], ["u"]), node("ConcatFromSequence", ["u"], ["all"], axis=1),
                 node("SequenceErase", ["s"], ["v"]), node("ConcatFromSequence", ["v"], ["stack"], axis=-1, new_axis=1)]
        made = model(nodes, [value("x", F, [3, 5])], [value("last"), value("n", I, []), value("all"), value("stack")], [constant(n, k) for n, k in (("one", 1), ("two", 2), ("back", -1))])
        self.gone("pieces of two", made, {"x": floats(3, 5)})

    def test_slices_of_an_open_axis(self):
        for axis, to in ((0, 0), (0, 1), (1, 0), (-1, -1), (2, 1)):
            nodes = [node("SplitToSequence", ["x"], ["s"], axis=axis, keepdims=0), node("SequenceAt", ["s", "back"], ["last"]), node("SequenceAt", ["s", "at"], ["chosen"]),
                     node("SequenceLength", ["s"], ["n"]), node("ConcatFromSequence", ["s"], ["stack"], axis=to, new_axis=1), node("ConcatFromSequence", ["s"], ["row"], axis=to)]
            made = model(nodes, [value("x", F, ["a", "b", "c"]), value("at", I, [])], [value("last"), value("chosen"), value("n", I, []), value("stack"), value("row")], [constant("back", -1)])
            self.gone(f"slices along {axis}, put along {to}", made, *[{"x": floats(*d), "at": np.array(1)} for d in ((2, 3, 4), (5, 2, 3))])

    def test_slices_that_keep_their_axis(self):
        nodes = [node("SplitToSequence", ["x"], ["s"], axis=-1), node("SequenceAt", ["s", "one"], ["second"]), node("ConcatFromSequence", ["s"], ["all"], axis=-1)]
        self.gone("columns", model(nodes, [value("x", F, ["a", "b"])], [value("second"), value("all")], [constant("one", 1)]), {"x": floats(2, 3)}, {"x": floats(1, 2)})
        for axis in (0, 1, 2):
            nodes = [node("SplitToSequence", ["x"], ["s"], axis=axis), *(node("ConcatFromSequence", ["s"], [f"y{to}{new}"], axis=to, new_axis=new) for new in (0, 1) for to in range(3 + new))]
            made = model(nodes, [value("x", F, ["a", "b", "c"])], [value(n.output[0]) for n in nodes[1:]] + [listed("s")])
            self.gone(f"along {axis}, put together along any", made, {"x": floats(2, 3, 4)}, {"x": floats(3, 2, 2)}, stacks=["s"])

    def test_pieces_of_an_open_axis_from_the_front(self):
        nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=-1), node("SequenceAt", ["s", "one"], ["y"]), node("SequenceLength", ["s"], ["n"]), node("ConcatFromSequence", ["s"], ["all"], axis=-1)]
        made = model(nodes, [value("x", F, ["a", "b"])], [value("y"), value("n", I, []), value("all")], [constant("one", 1), constant("two", 2)])
        self.gone("pieces of two", made, *[{"x": floats(2, b)} for b in (3, 4, 7)])

    def test_pieces_of_sizes_that_come_with_the_run(self):
        nodes = [node("SplitToSequence", ["x", "sizes"], ["s"], axis=0), node("SequenceAt", ["s", "one"], ["y"])]
        made = model(nodes, [value("x", F, ["a", 2]), value("sizes", I, [3])], [value("y")], [constant("one", 1)])
        self.gone("three of them", made, {"x": floats(6, 2), "sizes": np.array([1, 2, 3])}, {"x": floats(4, 2), "sizes": np.array([2, 1, 1])})

    def test_a_position_that_comes_with_the_run(self):
        nodes = [node("Neg", ["x"], ["z"]), node("SequenceConstruct", ["x", "z"], ["s"]), node("SequenceAt", ["s", "at"], ["y"])]
        made = model(nodes, [value("x", F, [2, 3]), value("at", I, [])], [value("y")])
        self.gone("one of two", made, *[{"x": floats(2, 3), "at": np.array(k)} for k in (0, 1, -1, -2)])

    def test_outputs_that_are_sequences_are_outputs_of_their_tensors(self):
        nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=0), node("Relu", ["x"], ["r"]), node("SequenceConstruct", ["x", "r", "x"], ["t"])]
        self.gone("two lists", model(nodes, [value("x", F, [5, 2])], [listed("s"), listed("t")], [constant("two", 2)]), {"x": floats(5, 2)})
        nodes = [node("SplitToSequence", ["x"], ["s"], axis=1, keepdims=0)]
        package = self.gone("slices", model(nodes, [value("x", F, ["a", "b", "c"])], [listed("s")]), {"x": floats(2, 3, 4)}, {"x": floats(1, 2, 2)}, stacks=["s"])
        self.assertIn("output 's' is a sequence of tensors of one shape", package.said)

    def test_inputs_that_are_sequences_by_their_number(self):
        body = graph([node("Add", ["e", "e"], ["sum"])], [value("sum")], [value("e")])
        nodes = [node("SequenceMap", ["s"], ["sums"], body=body), node("ConcatFromSequence", ["sums"], ["y"], axis=0), node("SequenceAt", ["s", "one"], ["second"])]
        made = model(nodes, [listed("s", F, ["n", 2])], [value("y"), value("second"), listed("sums")], [constant("one", 1)])
        package = self.gone("three", made, {"s": [floats(n, 2) for n in (1, 4, 2)]}, options=("--dim", "s=3"))
        code, said = host("compare", package.file, package.folder / "out/m", "--dim", "s=3")
        self.assertEqual(code, 0, said)
        self.assertIn("sums[2]", said)
        self.refused(made, "input 's' is a sequence of tensors, as many as the run gives: --dim s=N says how many")
        self.refused(made, "--dim s: 2000 tensors, wanted 0 to 1024", options=("--dim", "s=2000"))

    def test_inputs_that_are_optionals_are_given_unless_said_otherwise(self):
        then = graph([node("OptionalGetElement", ["o"], ["e"]), node("Add", ["e", "x"], ["a"])], [value("a")])
        other = graph([node("Neg", ["x"], ["m"])], [value("m")])
        made = model([node("OptionalHasElement", ["o"], ["has"]), node("If", ["has"], ["y"], then_branch=then, else_branch=other)], [maybe("o", F, [2]), value("x", F, [2])], [value("y")], opset=18)
        self.gone("given", made, {"o": floats(2), "x": floats(2)})
        self.gone("not given", made, {"o": None, "x": floats(2)}, options=("--dim", "o=0"))

    def test_an_if_gives_lists_of_one_length(self):
        then = graph([node("SequenceConstruct", ["x", "x"], ["a"])], [listed("a")])
        other = graph([node("Neg", ["x"], ["m"]), node("SequenceConstruct", ["m", "x"], ["b"])], [listed("b")])
        nodes = [node("If", ["c"], ["s"], then_branch=then, else_branch=other), node("ConcatFromSequence", ["s"], ["y"], axis=0)]
        made = model(nodes, [value("c", B, []), value("x", F, ["n", 2])], [value("y"), listed("s")])
        self.gone("two of two", made, *[{"c": np.array(c), "x": floats(3, 2)} for c in (True, False)])

    def test_a_body_for_each_tensor(self):
        body = graph([node("Add", ["e", "t"], ["sum"]), node("Shape", ["e"], ["size"])], [value("sum"), value("size", I)], [value("e"), value("t")])
        nodes = [node("SplitToSequence", ["x", "two"], ["s"], axis=0), node("SequenceMap", ["s", "b"], ["sums", "sizes"], body=body), node("ConcatFromSequence", ["sums"], ["y"], axis=0)]
        self.gone("SequenceMap", model(nodes, [value("x", F, [4, 3]), value("b", F, [3])], [value("y"), listed("sizes", I)], [constant("two", 2)]), {"x": floats(4, 3), "b": floats(3)})

    def test_a_loop_over_the_tensors_of_a_list(self):
        body = loop([node("SequenceAt", ["s", "i"], ["e"]), node("MatMul", ["h", "e"], ["m"]), node("Tanh", ["m"], ["ho"]), node("SequenceInsert", ["l", "ho", "front"], ["lo"])],
                    [value("ho"), listed("lo"), value("m")], value("h"), listed("l"))
        nodes = [node("SplitToSequence", ["x", "three"], ["s"], axis=0), node("SequenceLength", ["s"], ["n"]), node("SequenceEmpty", [], ["none"]),
                 node("Loop", ["n", "", "x", "none"], ["h_end", "l_end", "all"], body=body), node("ConcatFromSequence", ["l_end"], ["y"], axis=1)]
        made = model(nodes, [value("x", F, [9, 3])], [value("y"), value("h_end"), value("all")], [constant("three", 3), constant("front", 0)])
        self.gone("a recurrent cell whose weights are pieces", made, {"x": floats(9, 3)})

    def test_what_a_loop_of_open_trips_appends(self):
        for axis, new in ((0, 1), (1, 1), (0, 0), (-1, 0)):
            body = loop([node("Gather", ["x", "i"], ["row"], axis=0), node("Mul", ["row", "w"], ["e"]), node("SequenceInsert", ["l", "e"], ["lo"])], [listed("lo")], listed("l"))
            sizes = [node("Shape", ["x"], ["shape"]), node("Gather", ["shape", "zero"], ["n"])]
            nodes = [*sizes, node("SequenceEmpty", [], ["none"]), node("Loop", ["n", "yes", "none"], ["l_end"], body=body), node("ConcatFromSequence", ["l_end"], ["y"], axis=axis, new_axis=new)]
            made = model(nodes, [value("x", F, ["n", "a", 3]), value("w", F, [3])], [value("y")], [constant("zero", 0), constant("yes", True, bool)])
            self.gone(f"rows along {axis}, new {new}", made, *[{"x": floats(n, 2, 3), "w": floats(3)} for n in (1, 4, 90)])

    def test_a_list_that_begins_with_something_and_is_read_by_position(self):
        body = loop([node("Mul", ["h", "half"], ["ho"]), node("SequenceInsert", ["l", "ho"], ["lo"])], [value("ho", F, [2]), listed("lo", F, [2])], value("h", F, [2]), listed("l", F, [2]))
        nodes = [node("SequenceConstruct", ["x"], ["first"]), node("Loop", ["n", "", "x", "first"], ["h_end", "l_end"], body=body), node("ConcatFromSequence", ["l_end"], ["y"], axis=0, new_axis=1)]
        made = model(nodes, [value("x", F, [2]), value("n", I, [])], [value("y"), value("h_end")], [constant("half", 0.5, np.float32)])
        self.gone("the first and its halves", made, *[{"x": floats(2), "n": np.array(n)} for n in (0, 1, 5)])

    def test_optionals_of_known_state(self):
        then = graph([node("OptionalGetElement", ["o"], ["e"])], [value("e")])
        other = graph([node("Neg", ["x"], ["m"])], [value("m")])
        for words in ([node("Optional", ["x"], ["o"])], [node("Optional", [], ["o"], type=T(F, None))]):
            nodes = [*words, node("OptionalHasElement", ["o"], ["has"]), node("If", ["has"], ["y"], then_branch=then, else_branch=other)]
            self.gone("an optional", model(nodes, [value("x", F, [2])], [value("y"), value("has", B, [])]), {"x": floats(2)})

    def test_a_scripted_module_that_appends_in_a_loop(self):
        class Cell(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.cell = torch.nn.Linear(3, 3)

            def forward(self, x):
                h = torch.zeros(x.shape[1], 3)
                seen = []
                for row in x.unbind(0):
                    h = torch.tanh(self.cell(row) + h)
                    seen.append(h)
                return torch.stack(seen, 1), torch.cat([seen[0], seen[-1]])

        torch.manual_seed(0)
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "cell.onnx"
            torch.onnx.export(torch.jit.script(Cell()), (torch.randn(4, 2, 3),), file, dynamo=False, opset_version=17, input_names=["x"], output_names=["y", "z"],
                              dynamic_axes={"x": {0: "n", 1: "b"}})
            self.gone("a cell", file, *[{"x": floats(n, b, 3)} for n, b in ((4, 2), (1, 1), (80, 3))])

    def test_what_stays_says_why(self):
        nodes = [node("SequenceInsert", ["none", "x", "at"], ["s"]), node("SequenceAt", ["s", "zero"], ["y"]), node("SequenceEmpty", [], ["none"])]
        made = model(nodes[2:] + nodes[:2], [value("x", F, [2]), value("at", I, [])], [value("y")], [constant("zero", 0)])
        self.refused(made, "node 'sequenceinsert_1' (SequenceInsert) stays, which no device may take: position 'at' is no constant")
        made = model([node("SplitToSequence", ["x", "two"], ["s"])], [value("x", F, ["n"])], [listed("s")], [constant("two", 2)])
        self.refused(made, "(SplitToSequence) stays, which no device may take: how many tensors are in output 's' does not follow from the model, or they have not one shape")
        then = graph([node("SequenceConstruct", ["x", "x"], ["a"])], [listed("a")])
        other = graph([node("SequenceConstruct", ["x"], ["b"])], [listed("b")])
        nodes = [node("If", ["c"], ["s"], then_branch=then, else_branch=other), node("ConcatFromSequence", ["s"], ["y"], axis=0)]
        self.refused(model(nodes, [value("c", B, []), value("x", F, [2])], [value("y")]), "its branches give 's' another number of tensors")


if __name__ == "__main__":
    main()
