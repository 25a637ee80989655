"""Makes one script of all operations of a pattern that have the same flags.

Redis makes each function of a script whenever the script runs, which costs as much as a small
command. So all functions of modules that the operations reach become branches of one function, F,
and a call `f(x)` becomes `F(7, x)`. F is made once in a call, and only if no plain block answers.

    #!lua flags=allow-oom
    lua/lib/head.lua               the time, and which operation it is
    lua/lib/record.lua             the idempotency record of the request, if an operation has one
    repeat                         if an operation consists of others: for each of them
    if operation == 'a' then ...   the plain blocks
    if operation == 'b' then ...   the operations that need no function
    local x = ...                  the variables of modules
    F = function(f, _1, _2)        a tree of comparisons; each leaf is the body of a function
    if operation == 'c' then ...   the other operations
    until not steps[1]
    lua/lib/made.lua               adds first keys to the index of names, if an operation makes one
    lua/lib/recorded.lua           keeps the reply

If one of the last two is there, each operation is a branch of F as well, since it returns.
"""
import functools
import re
import sys
from collections import namedtuple

MARK = r"\x01[^\n]*"  # ends each line: the number of its file, and its number in it
FUNCTION = re.compile(rf"^local function (\w+)\(([^)\n]*)\){MARK}\n(.*?)^end{MARK}\n", re.M | re.S)
STATEMENT = re.compile(r"^local ([\w, ]+?)(?: = (.+))?$")
# A text, a comment, a field, or a name; its group 1 is the parenthesis that makes it a call.
TOKEN = re.compile(r"'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"|--[^\n]*|[.:]\w+|\b[A-Za-z_]\w*\b(\()?")
DECLARED = re.compile(r"\b(?:local (?:function )?|for |function \w*\()([\w, ]+)")
ARGUMENT = re.compile(r"\bARGV\[(\d+)\]")
MOST_PARAMETERS, MOST_VARIABLES = 12, 50  # Lua allows 60 variables of outer functions in a function
FILES = {}  # path: its number
PLAIN, STEPS = "its plain block", "its steps"
SET_BY_SCRIPT = {"reply", "proves", "lasts_ms", "known", "made", "steps", "replies", "F"}

# A function of a module; also an operation, whose name has a blank, so that nothing can call it.
Function = namedtuple("Function", "name parameters body path")


class Module:
    """A file of functions, constants, whose names are in capitals, and variables."""

    def __init__(self, path):
        self.path, text = path, code_of(path, path.read_text())
        self.functions = [
            Function(f[1], f[2].split(", ") if f[2] else [], f[3], path) for f in FUNCTION.finditer(text)
        ]
        self.constants, self.variables = {}, {}
        rest = re.sub(MARK, "", FUNCTION.sub("", text))
        for line in re.findall(r"^\S.*\n(?:[ }].*\n)*", rest, re.M):
            line = re.sub(r"\n\s*", " ", line.strip())
            statement = STATEMENT.match(line) or sys.exit(f"{path}: outside of functions a module has no '{line}'")
            names, values = statement[1].split(", "), statement[2]
            if statement[1].isupper():
                self.constants |= dict(zip(names, values.split(", ") if len(names) > 1 else [values], strict=True))
            else:
                self.variables |= dict.fromkeys(names, line)


def code_of(path, text, first=1):
    """Returns the text without comments and empty lines. Each line has a mark of where it is in the
    file, of which this text begins at the line `first`.
    """
    file = FILES.setdefault(path, len(FILES))
    text = TOKEN.sub(lambda t: "" if t[0].startswith("--") else t[0], text)
    return "".join(f"{line.rstrip()}\1{file}:{n}\n" for n, line in enumerate(text.splitlines(), first) if line.strip())


def unmarked(text):
    """The text of a script, and for each of its lines (file, line in it); None: no file has it."""
    lines = [line.strip().partition("\1") for line in text.splitlines()]
    origins = [tuple(map(int, mark.split(":"))) if mark else None for _, _, mark in lines]
    return "".join(line + "\n" for line, _, _ in lines), origins


@functools.cache
def names_in(text):
    return {t[0].rstrip("(") for t in TOKEN.finditer(text) if t[0][0] not in "'\"-.:"}


def one_of(operations):
    """The test whether the script is called for one of these operations."""
    return " or ".join(f"operation == '{o.name}'" for o in operations)


class Assembler:
    def __init__(self, modules, frame):
        """Puts modules between the parts of lua/lib that each script has, {name: text}."""
        self.frame, self.functions, self.constants, self.variables, self.module_of = frame, {}, {}, {}, {}
        for module in modules:
            for f in module.functions:
                self.add(self.functions, f.name, f, module)
            for name, value in module.constants.items():
                is_atom = re.fullmatch(r"[\w.]+|'[^']*'", value)
                self.add(self.constants, name, value if is_atom else f"({value})", module)
            for name, line in module.variables.items():
                self.add(self.variables, name, line, module)

    def add(self, kind, name, value, module):
        if name in self.module_of:
            sys.exit(f"{module.path}: {self.module_of[name].path} has the name {name}, too")
        kind[name], self.module_of[name] = value, module

    def reached(self, *codes):
        """All names that the code has, and the functions, constants and variables behind them."""
        names, todo = set(), list(codes)
        while todo:
            new = names_in(todo.pop()) - names
            names |= new
            for name in new:
                f, text = self.functions.get(name), self.constants.get(name) or self.variables.get(name)
                todo += [f.body] if f else [text] if text else []
        return names

    def is_indexed(self, operation):
        """Whether its last key is an index of names."""
        return not self.reached(operation.plain, operation.body).isdisjoint({"made", "names_key"})

    def text(self, operations):
        names = self.reached(*(o.steps + o.plain + o.body for o in operations))
        has_record = any(o.has_record for o in operations)
        indexed = [o for o in operations if self.is_indexed(o)]
        composed = [o for o in operations if o.steps]
        operations = [o for o in operations if not o.steps]
        bodies = {o: Function(f"operation {o.name}", ["granted", "proof"], o.body, o.path) for o in operations}
        leaves = [f for name, f in self.functions.items() if name in names]
        alone = [] if has_record or indexed else [o for o in operations if self.is_alone(o)]
        if has_record or indexed:  # so an operation is a function: the frame continues behind it
            leaves += bodies.values()
        self.number_of = {f.name: k for k, f in enumerate(leaves, 1)}
        variables = list(dict.fromkeys(line for name, line in self.variables.items() if name in names))
        if len(variables) > MOST_VARIABLES:
            sys.exit(f"{operations[0].path}: its modules have more than {MOST_VARIABLES} variables")
        lines = [operations[0].head, self.frame["head"]]
        lines += [self.record(operations) if has_record else "local granted, proof\n"]
        if indexed:
            lines += [f"local made, names_key\nif {one_of(indexed)} then\nnames_key = table.remove(KEYS)\nend\n"]
        lines += ["local reply, proves, lasts_ms, known\n", *self.steps_begin(composed)]
        lines += self.plain_blocks(operations)
        lines += ["if not reply then\n", *(self.branch(bodies[o], o) for o in alone)]
        lines += [self.rewritten(line + "\n", "") for line in variables]
        lines += self.function(leaves) if leaves else []
        lines += [self.branch(bodies[o], o) for o in operations if o not in alone] + ["end\n"]
        lines += self.steps_end(composed)
        lines += [self.frame["made"]] if indexed else []
        lines += [self.frame["recorded"] if has_record else "return reply\n"]
        # A global variable's field costs as much as a sixth of a small command.
        return "".join(lines).replace("redis.call(", "call(")

    def is_alone(self, operation):
        """Whether it needs nothing of a module but constants."""
        return names_in(operation.body).isdisjoint(self.functions.keys() | self.variables.keys())

    def branch(self, body, operation):
        number = self.number_of.get(body.name)
        code = f"reply, proves, lasts_ms = F({number}, granted, proof)\n" if number else self.code(body)
        return f"if operation == '{operation.name}' then\n{code}end\n"

    def record(self, operations):
        """What reads the record."""
        return self.frame["record"].replace("HAS_PARTS", one_of(o for o in operations if o.has_parts) or "false")

    def steps_begin(self, composed):
        """What runs the steps of composed operations, or the one operation of a call."""
        if not composed:
            return
        yield "local steps, replies, composed\n"
        for o in composed:
            code = self.code(Function(STEPS, [], o.steps, o.path))
            yield f"if operation == '{o.name}' then\n{code}composed, replies = operation, {{}}\nend\n"
        yield "repeat\nif steps then\nlocal step = table.remove(steps, 1)\n"
        yield "operation, reply, known = table.remove(step, 1), nil, nil\n"
        yield "for k = 1, math.max(#ARGV, #step) do\nARGV[k] = step[k]\nend\nend\n"

    def steps_end(self, composed):
        if not composed:
            return
        yield "if steps then\nreplies[#replies + 1] = reply\nend\nuntil not steps or not steps[1]\n"
        for o in composed:
            code = self.code(Function(STEPS, [], o.body, o.path))
            yield f"if composed == '{o.name}' then\n{code}end\n"

    def plain_blocks(self, operations):
        for o in operations:
            called = names_in(o.plain) & self.functions.keys()
            if called:
                sys.exit(f"{o.path}: a plain block calls no function of a module: {', '.join(called)}")
            if "return" in names_in(o.plain):  # the frame must run behind it
                sys.exit(f"{o.path}: a plain block does not return: it sets reply")
            if o.plain:
                code = self.code(Function(PLAIN, [], o.plain, o.path))
                yield f"if operation == '{o.name}' and not granted then\n{code}end\n"

    def function(self, leaves):
        most = max(len(f.parameters) for f in leaves)
        if most > MOST_PARAMETERS:
            sys.exit(f"{leaves[0].path}: a function has more than {MOST_PARAMETERS} parameters")
        given = [f"_{k}" for k in range(1, most + 1)]
        yield f"local F\nF = function({', '.join(['f', *given])})\n"
        yield from self.tree(leaves, given)
        yield "end\n"

    def tree(self, leaves, given):
        if len(leaves) == 1:
            (f,) = leaves
            if f.parameters:
                yield f"local {', '.join(f.parameters)} = {', '.join(given[: len(f.parameters)])}\n"
            yield self.code(f)
        else:
            half = len(leaves) // 2
            yield f"if f < {self.number_of[leaves[half].name]} then\n"
            yield from self.tree(leaves[:half], given)
            yield "else\n"
            yield from self.tree(leaves[half:], given)
            yield "end\n"

    def code(self, f):
        """The body of a function. No local variable of it may hide a name that is replaced. Each
        argument has one name.
        """
        declared = {name for row in DECLARED.findall(f.body) for name in re.findall(r"\w+", row)} | set(f.parameters)
        for name in sorted(declared & (self.functions.keys() | self.constants.keys())):
            sys.exit(f"{f.path}: {f.name}: a local variable hides {name} of {self.module_of[name].path}")
        for name in sorted(declared & (SET_BY_SCRIPT if f.name in (PLAIN, STEPS) else {"F"})):
            sys.exit(f"{f.path}: {f.name}: a local variable hides {name}, which is the script's")
        numbers = ARGUMENT.findall(f.body)
        named = ARGUMENT.findall("".join(re.findall(r"^\s*local (?!function).*", f.body, re.M)))
        for number in numbers:
            if number not in named or numbers.count(number) > 1:
                sys.exit(f"{f.path}: {f.name}: an argument has one name: local ... = ARGV[{number}]")
        return self.rewritten(f.body, f.path)

    def rewritten(self, code, path):
        """The code with constants in their places, and with calls of F."""

        def token(match):
            name = match[0].rstrip("(")
            if name in self.constants:
                return self.rewritten(self.constants[name], path) + (match[1] or "")
            if name not in self.functions:
                return match[0]
            if not match[1]:
                sys.exit(f"{path}: {name} is a function of a module, which can only be called")
            return f"F({self.number_of[name]}{'' if code[match.end()] == ')' else ', '}"

        return TOKEN.sub(token, code)
