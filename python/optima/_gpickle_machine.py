# SPDX-License-Identifier: Apache-2.0
"""Does what the opcodes of a pickle say, with inert things alone: a name is a Name, a call of one is a Record, and dicts and sets are lists of
what was stored into them, so that nothing of a file is hashed, compared or called here. No opcode makes more than it and its argument are long;
the opcodes are those of Python's pickletools."""
import pickletools

from optima._bad_input import bad_input

# Opcodes that ask the program which reads for more than the file has.
OUTSIDE = {"EXT1": "an extension code", "EXT2": "an extension code", "EXT4": "an extension code", "PERSID": "a persistent id",
           "BINPERSID": "a persistent id", "NEXT_BUFFER": "a buffer outside the file", "READONLY_BUFFER": "a buffer outside the file"}
ARGUMENTS = ("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "STRING", "BINSTRING", "SHORT_BINSTRING", "BINBYTES", "SHORT_BINBYTES",
             "BINBYTES8", "BYTEARRAY8", "UNICODE", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "FLOAT", "BINFLOAT")
CONSTANTS = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
OLD_OBJECTS = ("copyreg._reconstructor", "copy_reg._reconstructor")  # (class, base, what the base is made of): objects of protocols 0 and 1


class Name:
    """A name as a value. asked: "module.name"."""
    __slots__ = ("asked",)

    def __init__(self, asked):
        self.asked = asked


class Record:
    """A name that a pickle asked for, and what it did with it. asked: "module.name"; args, more: of the call, by place and by name; state: what it
    was given; pairs, items: what was stored into it. No code of the class that it stands for exists here."""
    __slots__ = ("args", "asked", "items", "more", "pairs", "state")

    def __init__(self, asked, args=(), more=None):
        self.asked, self.args, self.more, self.state, self.pairs, self.items = asked, args, more, None, [], []

    def __reduce__(self):
        raise TypeError(f"a record of {self.asked} cannot be pickled")

    def __repr__(self):
        return f"<record of {self.asked}>"


class Pairs(list):
    """A dict to be: (key, value) in the order in which they were stored."""


class Members(list):
    """A set to be; frozen: a frozenset."""
    frozen = False


class Machine:
    """One run over one pickle. name_of(asked) raises for names that are refused. Raises optima.Error whose sentence begins with `what`."""

    def __init__(self, data, what, name_of):
        self.data, self.what, self.name_of = data, what, name_of
        self.stack, self.below, self.memo, self.value = [], [], {}, None  # below: the stacks under each mark

    def run(self):
        name, position = "the beginning", 0
        try:
            for opcode, argument, position in pickletools.genops(self.data):
                name = opcode.name
                if name in OUTSIDE:
                    raise bad_input(f"{self.what} asks for {OUTSIDE[name]} ({argument!r:.60}) at byte {position}, wanted a file that has everything")
                if name in CONSTANTS:
                    self.stack.append(CONSTANTS[name])
                elif name in ARGUMENTS:
                    self.stack.append(argument)
                else:
                    getattr(self, f"do_{name.lower()}")(argument)
        except (IndexError, AttributeError, TypeError) as error:  # an empty stack, or another thing on it than the opcode works on
            raise bad_input(f"{self.what} is no pickle: {name} at byte {position} of {len(self.data)} does not find what it works on") from error
        except KeyError as error:
            raise bad_input(f"{self.what} is no pickle: {name} at byte {position} wants memo {error}, which is empty") from error
        except (ValueError, EOFError, OverflowError) as error:  # UnicodeError is a ValueError
            raise bad_input(f"{self.what} is no pickle: {error!s:.200}, behind {name} at byte {position} of {len(self.data)}".replace("\n", " ")) from error
        return self.value

    def marked(self):
        """What lies above the last mark, which goes."""
        above, self.stack = self.stack, self.below.pop()
        return above

    def top(self, *kinds):
        if not isinstance(self.stack[-1], kinds):
            raise TypeError
        return self.stack[-1]

    def do_proto(self, version):
        if version > 5:
            raise ValueError(f"protocol {version}, wanted 0 to 5")

    def do_frame(self, size):
        if size > len(self.data):
            raise ValueError(f"a frame of {size} bytes")

    def do_stop(self, _):
        self.value = self.stack.pop()

    def do_mark(self, _):
        self.below.append(self.stack)
        self.stack = []

    def do_pop_mark(self, _):
        self.marked()

    def do_pop(self, _):
        if self.stack:
            self.stack.pop()
        else:
            self.marked()

    def do_dup(self, _):
        self.stack.append(self.stack[-1])

    # The memo.
    def do_put(self, index):
        if index > len(self.data):
            raise ValueError(f"memo {index}")
        self.memo[index] = self.stack[-1]

    do_binput = do_long_binput = do_put

    def do_memoize(self, _):
        self.memo[len(self.memo)] = self.stack[-1]

    def do_get(self, index):
        self.stack.append(self.memo[index])

    do_binget = do_long_binget = do_get

    # Containers.
    def do_empty_list(self, _):
        self.stack.append([])

    def do_list(self, _):
        above = self.marked()
        self.stack.append(above)

    def do_append(self, _):
        value = self.stack.pop()
        self.items_of_top().append(value)

    def do_appends(self, _):
        above = self.marked()
        self.items_of_top().extend(above)

    def items_of_top(self):
        target = self.top(list, Record)
        if isinstance(target, (Pairs, Members)):
            raise TypeError
        return target.items if isinstance(target, Record) else target

    def do_empty_tuple(self, _):
        self.stack.append(())

    def do_tuple(self, _):
        above = self.marked()
        self.stack.append(tuple(above))

    def do_tuple1(self, _):
        self.stack[-1:] = [(self.stack[-1],)]

    def do_tuple2(self, _):
        self.stack[-2:] = [(self.stack[-2], self.stack[-1])]

    def do_tuple3(self, _):
        self.stack[-3:] = [(self.stack[-3], self.stack[-2], self.stack[-1])]

    def do_empty_dict(self, _):
        self.stack.append(Pairs())

    def do_dict(self, _):
        above = self.marked()
        self.stack.append(Pairs(pairs_of(above)))

    def do_setitem(self, _):
        value, key = self.stack.pop(), self.stack.pop()
        self.pairs_of_top().append((key, value))

    def do_setitems(self, _):
        above = self.marked()
        self.pairs_of_top().extend(pairs_of(above))

    def pairs_of_top(self):
        target = self.top(Pairs, Record)
        return target.pairs if isinstance(target, Record) else target

    def do_empty_set(self, _):
        self.stack.append(Members())

    def do_additems(self, _):
        above = self.marked()
        target = self.top(Members, Record)
        (target.items if isinstance(target, Record) else target).extend(above)

    def do_frozenset(self, _):
        made = Members(self.marked())
        made.frozen = True
        self.stack.append(made)

    # Names, and what is done with them.
    def do_global(self, pair):
        module, _, name = pair.partition(" ")
        self.push_name(module, name)

    def do_stack_global(self, _):
        name, module = self.stack.pop(), self.stack.pop()
        self.push_name(module, name)

    def push_name(self, module, name):
        if type(module) is not str or type(name) is not str:
            raise TypeError
        self.stack.append(Name(self.name_of(module, name)))

    def do_reduce(self, _):
        args, called = self.stack.pop(), self.stack.pop()
        self.push_record(called, args)

    do_newobj = do_reduce

    def do_newobj_ex(self, _):
        more, args, called = self.stack.pop(), self.stack.pop(), self.stack.pop()
        self.push_record(called, args, more)

    def do_inst(self, pair):
        args = tuple(self.marked())
        self.do_global(pair)
        self.push_record(self.stack.pop(), args)

    def do_obj(self, _):
        called, *args = self.marked()
        self.push_record(called, tuple(args))

    def push_record(self, called, args, more=None):
        if type(called) is not Name or type(args) is not tuple:
            raise TypeError
        asked = called.asked
        if asked in OLD_OBJECTS and len(args) == 3 and type(args[0]) is Name:
            asked, args = args[0].asked, () if args[2] is None else args[2:]
        self.stack.append(Record(asked, args, more))

    def do_build(self, _):
        state = self.stack.pop()
        self.top(Record).state = state


def pairs_of(flat):
    if len(flat) % 2:
        raise TypeError
    return zip(flat[::2], flat[1::2])
