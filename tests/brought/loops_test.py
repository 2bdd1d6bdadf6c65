# SPDX-License-Identifier: Apache-2.0
"""Loops and Scans of open sizes, compiled as people do, without naming a device: the host drives them, their bodies run where they would."""
from support import *


def take_size(of, name, at=0):
    """Nodes that make dim `at` of a value a scalar, and the constant they want."""
    return [node("Shape", [of], [name + "_shape"]), node("Gather", [name + "_shape", name + "_at"], [name], axis=0)], constant(name + "_at", at)


def carried(*names):
    return [value("i", I, []), value("ci", B, []), *(value(n) for n in names)]


class Loops(Case):
    def anywhere(self, what, made, *inputs):
        package = self.agree(what, made, *inputs, device=None)
        self.assertNotIn("REF", (package.folder / "out/m/placement.json").read_text(), what)

    def test_as_many_trips_as_a_size_says(self):
        sizes, at = take_size("x", "rows")
        body = graph([node("Identity", ["ci"], ["co"]), node("Gather", ["x", "i"], ["row"], axis=0), node("MatMul", ["row", "w"], ["turned"]), node("Add", ["s", "turned"], ["sum"]),
                      node("Tanh", ["sum"], ["so"]), node("Mul", ["so", "row"], ["seen"])], [value("co", B, []), value("so", F, [4]), value("seen", F, [4])], carried("s"))
        made = model([*sizes, node("Loop", ["rows", "", "start"], ["last", "all"], body=body), node("Softmax", ["all"], ["y"])], [value("x", F, ["n", 4])], [value("y"), value("last")],
                     [at, constant("w", floats(4, 4), np.float32), constant("start", np.zeros(4), np.float32)])
        self.anywhere("rows one by one", made, *[{"x": floats(n, 4)} for n in (1, 5, 2, 17)])

    def test_until_the_data_says_so(self):
        body = graph([node("Mul", ["s", "half"], ["so"]), node("ReduceMax", ["so"], ["top"], keepdims=0), node("Greater", ["top", "least"], ["co"])], [value("co", B, []), value("so")], carried("s"))
        made = model([node("Loop", ["", "yes", "x"], ["y"], body=body)], [value("x", F, ["a", "b"])], [value("y")],
                     [constant("yes", True, bool), constant("half", 0.5, np.float32), constant("least", 0.01, np.float32)])
        self.anywhere("halved until it is small", made, {"x": floats(2, 3)}, {"x": 1000 * floats(7, 1)}, {"x": floats(1, 1)})

    def test_what_is_carried_grows(self):
        body = graph([node("Identity", ["ci"], ["co"]), node("Concat", ["s", "x"], ["so"], axis=0), node("ReduceSum", ["s"], ["seen"], keepdims=0)],
                     [value("co", B, []), value("so", F, [None, "c"]), value("seen", F, [])], [value("i", I, []), value("ci", B, []), value("s", F, [None, "c"])])
        made = model([node("Loop", ["m", "", "x"], ["grown", "sums"], body=body), node("Relu", ["grown"], ["y"])], [value("x", F, ["r", "c"]), value("m", I, [])], [value("y"), value("sums")])
        self.anywhere("rows that become more", made, *[{"x": floats(r, c), "m": np.array(m)} for r, c, m in ((2, 4, 3), (1, 1, 0), (3, 5, 1), (2, 4, 6))])

    def test_weights_that_are_carried_unchanged(self):
        body = graph([node("MatMul", ["s", "wi"], ["turned"]), node("Add", ["turned", "bi"], ["so"]), node("Identity", ["wi"], ["wo"]), node("Identity", ["ci"], ["co"])],
                     [value("co", B, []), value("so"), value("wo", F, [4, 4]), value("bi", F, [None, 4])], [value("i", I, []), value("ci", B, []), value("s"), value("wi", F, [4, 4]), value("bi", F, [None, 4])])
        made = model([node("Loop", ["m", "", "x", "w", "b"], ["y", "last_w", "last_b"], body=body), node("Add", ["last_w", "y"], ["z"])], [value("x", F, ["n", 4]), value("b", F, ["k", 4]), value("m", I, [])],
                     [value("y"), value("last_b"), value("z")], [constant("w", floats(4, 4) / 2, np.float32)])
        self.anywhere("weights among the states", made, *[{"x": floats(n, 4), "b": floats(k, 4), "m": np.array(m)} for n, k, m in ((1, 1, 3), (4, 1, 0), (4, 4, 5), (1, 1, 1))])

    def test_a_scan_of_an_open_sequence(self):
        body = graph([node("Concat", ["h", "xt"], ["both"], axis=1), node("MatMul", ["both", "w"], ["turned"]), node("Tanh", ["turned"], ["ho"]), node("Mul", ["ho", "gt"], ["yt"])],
                     [value("ho", F, ["n", 3]), value("yt", F, ["n", 3])], [value("h", F, ["n", 3]), value("xt", F, ["n", 4]), value("gt", F, ["n", 3])])
        made = model([node("Scan", ["h0", "x", "g"], ["h", "y"], body=body, num_scan_inputs=2, scan_input_axes=[1, 1], scan_input_directions=[0, 1], scan_output_axes=[1])],
                     [value("h0", F, ["n", 3]), value("x", F, ["n", "t", 4]), value("g", F, ["n", "t", 3])], [value("y"), value("h")], [constant("w", floats(7, 3), np.float32)])
        self.anywhere("a recurrent cell by hand", made, *[{"h0": floats(n, 3), "x": floats(n, t, 4), "g": floats(n, t, 3)} for n, t in ((1, 1), (2, 7), (3, 2), (1, 19))])

    def test_an_if_and_a_loop_in_a_loop(self):
        step = graph([node("Identity", ["jc"], ["jo"]), node("Mul", ["t", "decay"], ["to"])], [value("jo", B, []), value("to")], [value("j", I, []), value("jc", B, []), value("t")])
        even = graph([node("Loop", ["two", "", "s"], ["e"], body=step)], [value("e")])
        odd = graph([node("Add", ["s", "x"], ["o"])], [value("o")])
        body = graph([node("Identity", ["ci"], ["co"]), node("Mod", ["i", "two"], ["rest"]), node("Cast", ["rest"], ["is_odd"], to=B), node("If", ["is_odd"], ["so"], then_branch=odd, else_branch=even)],
                     [value("co", B, []), value("so")], carried("s"))
        made = model([node("Loop", ["m", "", "x"], ["y"], body=body)], [value("x", F, ["a", "b"]), value("m", I, [])], [value("y")], [constant("two", 2), constant("decay", 0.9, np.float32)])
        self.anywhere("by turns", made, *[{"x": floats(a, b), "m": np.array(m)} for a, b, m in ((2, 3, 5), (4, 1, 2), (1, 8, 0))])


if __name__ == "__main__":
    main()
