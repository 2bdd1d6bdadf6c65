# SPDX-License-Identifier: Apache-2.0
"""What a gpickle's inert records become: graphs, arrays, containers. Only what is listed here is rebuilt; all else stays a record."""
import math

from optima._bad_input import bad_input

CONTAINERS = {"builtins.set": set, "builtins.frozenset": frozenset, "builtins.list": list, "builtins.tuple": tuple, "builtins.bytearray": bytearray}
CONTAINERS.update({name.replace("builtins", "__builtin__"): make for name, make in CONTAINERS.items()})
DICTS = {"collections.OrderedDict", "collections.defaultdict", "collections.Counter", "builtins.dict", "__builtin__.dict"}
DIGRAPH = "networkx.classes.digraph.DiGraph"
ARRAYS = {f"numpy.{core}.multiarray._reconstruct" for core in ("core", "_core")}
BUFFERS = {f"numpy.{core}.numeric._frombuffer" for core in ("core", "_core")}
SCALARS = {f"numpy.{core}.multiarray.scalar" for core in ("core", "_core")}
OLD_OBJECTS = {"copyreg._reconstructor", "copy_reg._reconstructor"}
BYTES = {"_codecs.encode": bytes, "builtins.bytearray": bytearray, "__builtin__.bytearray": bytearray}  # as text of code points below 256
# Named by graphs, and of no use here: views that networkx makes anew, types as values.
PASSED_OVER = {f"networkx.classes.{name}" for name in
               ("reportviews.NodeView", "reportviews.OutEdgeView", "reportviews.InEdgeView", "reportviews.EdgeView", "reportviews.DiDegreeView",
                "reportviews.DegreeView", "reportviews.InDegreeView", "reportviews.OutDegreeView", "coreviews.AdjacencyView", "coreviews.AtlasView",
                "graph.Graph", "multigraph.MultiGraph", "multidigraph.MultiDiGraph")}
TYPES = {f"{module}.{name}" for module in ("builtins", "__builtin__") for name in
         ("int", "float", "str", "bool", "bytes", "complex", "object", "type", "range", "slice", "NoneType", "long", "unicode")}
TYPES |= {f"numpy.{name}" for name in
          ("dtype", "ndarray", "float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool_", "bool")}
ALLOWED = frozenset({*CONTAINERS, *DICTS, DIGRAPH, *ARRAYS, *BUFFERS, *SCALARS, *OLD_OBJECTS, *BYTES, *PASSED_OVER, *TYPES})


class Record:
    """A name that a pickle asked for, and what it did with it. asked: "module.name"; args: of the call; state: what it was given; keys, items:
    what was stored into it. No code of the class that it stands for exists here."""
    __slots__ = ("args", "state", "pairs", "items")
    asked = ""

    def __new__(cls, *args, **more):
        made = object.__new__(cls)
        made.args, made.state, made.pairs, made.items = (*args, more) if more else args, None, [], []
        return made

    def __init__(self, *args, **more):
        pass

    def __setstate__(self, state):
        self.state = state

    def __setitem__(self, key, value):
        self.pairs.append((key, value))

    def append(self, value):
        self.items.append(value)

    def extend(self, values):
        self.items.extend(values)

    add = append

    def __reduce__(self):
        raise TypeError(f"a record of {self.asked} cannot be pickled")

    def __repr__(self):
        return f"<record of {self.asked}>"


class Rebuilder:
    """Turns what the reader gave into plain values, each shared one once."""

    def __init__(self, what):
        self.what, self.done, self.keep = what, {}, []

    def value(self, found):
        kind = type(found)
        if kind in (dict, list, tuple, set, frozenset) or isinstance(found, Record):
            if id(found) not in self.done:
                self.keep.append(found)  # ids are of living objects
                self.done[id(found)] = self.container(found, kind)
            return self.done[id(found)]
        return self.named(found) if isinstance(found, type) else found

    def named(self, kind):
        """A class as a value is the record of its name."""
        return kind() if issubclass(kind, Record) else kind

    def container(self, found, kind):
        if kind is dict:
            return self.fill(self.begin(found, {}), found.items())
        if kind is list:
            made = self.begin(found, [])
            made.extend(map(self.value, found))
            return made
        if isinstance(found, Record):
            return self.record(found)
        return kind(map(self.value, found))

    def begin(self, found, made):
        """What holds itself finds what is being made of it."""
        self.done[id(found)] = made
        return made

    def fill(self, made, pairs):
        for key, value in pairs:
            made[self.value(key)] = self.value(value)
        return made

    def record(self, found):
        asked, args = found.asked, found.args
        if asked in OLD_OBJECTS and args and isinstance(args[0], type) and issubclass(args[0], Record):
            asked, args = args[0].asked, ()
        if asked == DIGRAPH:
            return self.graph(found)
        if asked in DICTS:
            first = [pair for pair in args if type(pair) is dict] or [{}]
            return self.fill(self.begin(found, {}), [*first[0].items(), *found.pairs])
        if asked in CONTAINERS and len(args) <= 1:
            inside = self.value(args[0]) if args else ()
            if type(inside) in (list, tuple, bytes, bytearray):
                return CONTAINERS[asked](inside)
        if asked in BYTES and len(args) == 2 and type(args[0]) is str and args[1] in ("latin1", "latin-1"):
            return BYTES[asked](args[0].encode("latin-1"))
        made = self.array(found)
        if made is None:
            self.begin(found, found)
            found.args, found.state = tuple(map(self.value, args)), self.value(found.state)
            found.items, found.pairs = self.value(found.items), self.value(found.pairs)
            return found
        return made

    def graph(self, found):
        import networkx
        state = found.state
        state = state if type(state) is dict else {}
        nodes, edges = state.get("_node", state.get("node")), state.get("_adj", state.get("_succ", state.get("adj")))  # bare names: networkx 1
        graph = self.begin(found, networkx.DiGraph())
        graph.graph.update(self.checked(state.get("graph", {}), "attributes of the graph"))
        for node, attributes in self.checked(nodes, "nodes").items():
            graph.add_node(node)
            graph.nodes[node].update(self.checked(attributes, f"attributes of node {node!r:.60}"))
        for source, targets in self.checked(edges, "edges").items():
            for target, attributes in self.checked(targets, f"edges of node {source!r:.60}").items():
                if source not in graph or target not in graph:
                    raise bad_input(f"{self.what} is damaged: an edge {source!r:.60} -> {target!r:.60} has a node that is not there")
                graph.add_edge(source, target)
                graph.edges[source, target].update(self.checked(attributes, "attributes of an edge"))
        return graph

    def checked(self, found, part):
        made = self.value(found)
        if not isinstance(made, dict):
            raise bad_input(f"{self.what} is damaged: {part} are {type(made).__name__}, wanted a dict")
        return made

    def array(self, found):
        """A numpy array or scalar of numbers; None for whatever is none, such as one of objects."""
        import numpy
        if found.asked in ARRAYS and type(found.state) is tuple and len(found.state) == 5:
            _, shape, dtype, fortran, data = found.state
        elif found.asked in BUFFERS and len(found.args) == 4:
            data, dtype, shape, order = found.args
            fortran = order == "F"
        elif found.asked in SCALARS and len(found.args) == 2:
            (dtype, data), shape, fortran = found.args, (), False
        else:
            return None
        data = self.value(data)
        code = dtype_code(dtype)
        if code is None or not isinstance(data, (bytes, bytearray)) or type(shape) is not tuple or any(type(d) is not int or d < 0 for d in shape):
            return None
        if math.prod(shape) * numpy.dtype(code).itemsize != len(data):
            raise bad_input(f"{self.what} is damaged: an array of shape {shape} has {len(data)} bytes")
        made = numpy.frombuffer(data, code).reshape(shape, order="F" if fortran else "C")
        return made.copy(order="A") if found.asked not in SCALARS else made[()]


def dtype_code(dtype):
    """'<f4' of the record of a dtype of plain numbers, else None."""
    args = dtype.args if isinstance(dtype, Record) and dtype.asked == "numpy.dtype" else ()
    code = args[0] if args else None
    if type(code) is not str or len(code) not in (2, 3) or code[0] not in "fiubc" or not code[1:].isdigit():
        return None
    import numpy
    order = dtype.state[1] if type(dtype.state) is tuple and len(dtype.state) > 1 and dtype.state[1] in ("<", ">", "|", "=") else "="
    try:
        return numpy.dtype(code).newbyteorder(order)
    except (TypeError, ValueError):
        return None
