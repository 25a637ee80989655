"""Turns the declared replies of the scripts of lua/ into C: forms (service/redis/reply_form.h), and
for each script an enum of its outcomes and the positions of its items.

A script declares each form of its reply, {outcome, now_ms, ...}, in its head:

    --@reply 1 taken, 2 entered: owner text, holds int, expires_at_ms int, fence int...
    --@reply 0 held: next_at_ms int, waiters int, holder (lock_holder)...
    --@reply -1 not_holder

A declaration has the outcomes, with names if handlers distinguish them, and then the items behind
now_ms, each with its type. `0..` is an outcome of 0 and above, `..-1` is an outcome below 0. Types
are `int` (or its digits), `real` (or its text), `text`, `(shape)`, the items of a shape, and
`[shape]`, an array of them. If the last item ends with `...`, it repeats any number of times. A
line that ends with a comma continues in the next line.

After a reply that is declared by --@again, some work is left. call/call.c sends the command again
and passes the next reply to the handler, so a handler never sees this one. Its items replace as
many of the last arguments. An outcome above 0 has changed something that the request asked for:

    --@again 2 more, 0 settled: total int

A shape names the items that several replies share. A script or a part of scripts declares it:

    --@shape lock_holder: owner text, fence int, expires_at_ms int

A reply begins with a shape if the shape alone replaces the first items: `--@reply 0: sale`.

The enum of lock_acquire has LOCK_ACQUIRE_TAKEN = 1 and LOCK_ACQUIRE_OWNER = 2, the item's
position. The enum of the shape has LOCK_HOLDER_OWNER = 0 and LOCK_HOLDER_ITEMS = 3, the number of
its items. If replies begin with a shape, its positions are positions in the reply.
"""
import re
import sys

OWN = 2  # REPLY_OWN: behind {outcome, now_ms}
DECLARATION = re.compile(r"^--@(reply|again|shape)[ \t]+((?:[^\n]*,\n--[ \t]*)*[^\n]*)$", re.M)
OUTCOME = re.compile(r"(?P<one>-?\d+)( (?P<name>\w+))?$|(?P<least>-?\d+)?\.\.(?P<most>-?\d+)?$")
ITEM = re.compile(r"(?P<name>\w+) (?:(?P<type>int|real|text)|\((?P<flat>\w+)\)|\[(?P<array>\w+)\])(?P<again>\.\.\.)?$")
LETTERS = {"int": "i", "real": "r", "text": "t"}


class Replies:
    def __init__(self, texts):
        """Of {path: text}, all files of lua/."""
        self.shapes, self.declared, self.enumerators = {}, {}, {}
        for path, text in texts.items():
            for kind, rest in DECLARATION.findall(text):
                rest = re.sub(r"\n--[ \t]*", " ", rest)
                name, _, items = rest.partition(":")
                if kind != "shape":
                    self.declared.setdefault(path, []).append((name, items.strip(), kind == "again"))
                elif name in self.shapes:
                    sys.exit(f"{path}: --@shape {name}: {self.shapes[name]['path']} has one of that name")
                else:
                    self.shapes[name] = {"path": path, "items": items.strip()}

    def shape(self, path, name, at):
        """Its form and names, as the first items of a reply (at OWN) or inside of one (0)."""
        shape = self.shapes.get(name) or sys.exit(f"{path}: no '--@shape {name}: ...' declares the shape {name}")
        if shape.setdefault("at", at) != at:
            sys.exit(f"{path}: the shape {name} begins a reply and is inside of one: declare it twice, by two names")
        if "form" not in shape:
            shape["form"], shape["names"], shape["end"] = self.items(shape["path"], shape["items"], at)
        return shape

    def items(self, path, text, at):
        """The form of items, the first at `at`; the names of those behind a shape; the end."""
        form, names = "", []
        for part in filter(None, map(str.strip, text.split(","))):
            if not form and part in self.shapes:
                lead = self.shape(path, part, at)
                form, at = lead["form"], lead["end"]
                continue
            item = ITEM.match(part) or sys.exit(f"{path}: '{part}' is neither a declared --@shape nor an item such as 'name int'")
            if "*" in re.sub(r"\(.*\)", "", form):
                sys.exit(f"{path}: '{part}' is behind one that repeats")
            inside = (item["flat"] or item["array"]) and self.shape(path, item["flat"] or item["array"], 0)
            one = LETTERS.get(item["type"]) or (inside["form"] if item["flat"] else f"({inside['form']})")
            form += "*" + one if item["again"] else one
            names.append((item["name"], at))
            at += inside["end"] if item["flat"] else 1
        return form, names, at

    def enum(self, path, of, names):
        """The enum of a script or shape: its enumerators are its own."""
        rows = {}
        for name, value in names:
            row = f"{of}_{name}".upper()
            if self.enumerators.setdefault(row, (path, value)) != (path, value):
                sys.exit(f"{path}: {row} would be {value}, and {self.enumerators[row][1]} by {self.enumerators[row][0]}")
            rows[row] = value
        return "enum { " + ", ".join(f"{row} = {value}" for row, value in rows.items()) + " };" if rows else ""

    def of_script(self, path):
        """[(least, most, form, whether it is called again)] of its outcomes, and its enum."""
        rows, names = [], []
        for outcomes, items, again in self.declared.get(path, []):
            form, own, _ = self.items(path, items, OWN)
            if again and re.search("[*(]", form):
                sys.exit(f"{path}: the items of --@again are arguments: each is one int, real or text")
            for text in map(str.strip, outcomes.split(",")):
                o = OUTCOME.match(text) or sys.exit(f"{path}: '{text}' is no outcome; tools/replies.py has their form")
                rows.append((o["one"] or o["least"] or "INT64_MIN", o["one"] or o["most"] or "INT64_MAX", form, again))
                names += [(o["name"], int(o["one"]))] if o["name"] else []
            names += own
        return rows, self.enum(path, path.stem, names)

    def of_shapes(self):
        """The enums of shapes, after all scripts."""
        for name, shape in self.shapes.items():
            if "form" not in shape:
                sys.exit(f"{shape['path']}: no script replies with the shape {name}")
            yield self.enum(
                shape["path"], name, shape["names"] + ([] if shape["at"] else [("items", shape["end"])])
            )
