"""HCL, the language of `docker-bake.hcl`: text becomes bodies of attributes and blocks, and each
expression a function of the scope that it is evaluated in.
https://github.com/hashicorp/hcl/blob/main/hclsyntax/spec.md
"""

import re

from hcl_values import OPERATIONS, Wrong, index, kind_of, number_of, text_of, truth_of

BLANK = re.compile(r"(?:[ \t\r]+|/\*.*?\*/|(?:#|//)[^\n]*)*", re.DOTALL)
BLANKS = re.compile(r"(?:\s+|/\*.*?\*/|(?:#|//)[^\n]*)*", re.DOTALL)
NAME = re.compile(r"[^\W\d][\w-]*")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
HEREDOC = re.compile(r"<<(-?)([^\W\d][\w-]*)\r?\n(.*?)^[ \t]*\2[ \t]*(?=\r?$|\Z)",
                     re.DOTALL | re.MULTILINE)
DIRECTIVE = re.compile(r"%\{(~?)\s*(if|else|endif|for|endfor)\b")
ESCAPES = {"n": "\n", "r": "\r", "t": "\t", '"': '"', "\\": "\\"}
LEVELS = [("||",), ("&&",), ("==", "!="), ("<=", ">=", "<", ">"), ("+", "-"), ("*", "/", "%")]


class Body:
    """Attributes by their names, and blocks, as the file has them."""

    def __init__(self):
        self.attributes = {}
        self.blocks = []


class Block:
    def __init__(self, kind, labels, body, place):
        self.kind, self.labels, self.body, self.place = kind, labels, body, place


class Scope:
    """Names and functions that an expression sees. `names` may make its values when asked."""

    def __init__(self, names, functions, outer=None):
        self.names, self.functions, self.outer = names, functions, outer

    def inner(self, names):
        return Scope(names, self.functions, self)

    def find(self, name):
        scope = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.outer
        raise KeyError(name)


class Reader:
    """Reads a text from its beginning on; `first` is the number of its first line."""

    def __init__(self, file, text, first=1):
        self.file, self.text, self.at, self.first = file, text, 0, first
        # Within brackets a line's end is a blank.
        self.wraps = False

    def place(self):
        return f"{self.file}:{self.first + self.text.count(chr(10), 0, self.at)}"

    def wrong(self, words):
        return Wrong(f"{self.place()}: {words}")

    def blank(self, wraps=None):
        pattern = BLANKS if (self.wraps if wraps is None else wraps) else BLANK
        self.at = pattern.match(self.text, self.at).end()

    def take(self, token):
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def match(self, pattern):
        found = pattern.match(self.text, self.at)
        if found:
            self.at = found.end()
        return found

    def expect(self, token):
        self.blank()
        if not self.take(token):
            there = self.text[self.at:self.at + 10].split("\n")[0] or "the end of the line"
            raise self.wrong(f"`{token}` is missing before {there!r}")

    def ends(self):
        return self.at >= len(self.text)

    # Bodies.

    def body(self, closed=False):
        made = Body()
        while True:
            self.blank(True)
            if closed and self.take("}"):
                return made
            if self.ends():
                if closed:
                    raise self.wrong("a block is not closed by `}`")
                return made
            self.statement(made)
            self.blank(False)
            at_end = self.ends() or self.text[self.at] == "\n" or (closed and self.text[self.at] == "}")
            if not at_end:
                raise self.wrong(f"{self.text[self.at]!r} is not expected behind this")

    def statement(self, made):
        place = self.place()
        name = self.label()
        self.blank(False)
        if self.text.startswith("=", self.at) and not self.text.startswith("==", self.at):
            self.at += 1
            if name in made.attributes:
                raise self.wrong(f"{name!r} is set twice in this block")
            made.attributes[name] = self.unwrapped(self.expression)
            return
        labels = []
        while not self.take("{"):
            labels.append(self.label())
            self.blank(False)
        made.blocks.append(Block(name, labels, self.body(True), place))

    def label(self):
        found = self.match(NAME)
        if found:
            return found[0]
        if self.take('"'):
            end = self.text.find('"', self.at)
            if end >= 0:
                label, self.at = self.text[self.at:end], end + 1
                return label
        raise self.wrong("the name of an attribute or a block is expected")

    # Expressions.

    def guarded(self, evaluate):
        """Names the place in what goes wrong."""
        place = self.place()

        def run(scope):
            try:
                return evaluate(scope)
            except (ValueError, TypeError, ZeroDivisionError, IndexError) as error:
                raise Wrong(f"{place}: {error}") from None
        return run

    def unwrapped(self, read, wraps=False):
        before, self.wraps = self.wraps, wraps
        found = read()
        self.wraps = before
        return found

    def expression(self):
        condition = self.binary(0)
        self.blank()
        if not self.take("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        no = self.expression()
        return self.guarded(lambda scope: (yes if truth_of(condition(scope)) else no)(scope))

    def binary(self, level):
        if level == len(LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while True:
            self.blank()
            sign = next((sign for sign in LEVELS[level] if self.text.startswith(sign, self.at)), None)
            if sign is None:
                return left
            self.at += len(sign)
            left = self.operation(sign, left, self.binary(level + 1))

    def operation(self, sign, left, right):
        if sign == "&&":
            return self.guarded(lambda scope: truth_of(left(scope)) and truth_of(right(scope)))
        if sign == "||":
            return self.guarded(lambda scope: truth_of(left(scope)) or truth_of(right(scope)))
        run = OPERATIONS[sign]
        return self.guarded(lambda scope: run(left(scope), right(scope)))

    def unary(self):
        self.blank()
        if self.text.startswith("!", self.at) and not self.text.startswith("!=", self.at):
            self.at += 1
            value = self.unary()
            return self.guarded(lambda scope: not truth_of(value(scope)))
        if self.take("-"):
            value = self.unary()
            return self.guarded(lambda scope: -number_of(value(scope)))
        return self.postfix(self.primary())

    def postfix(self, value):
        while True:
            if self.text.startswith("...", self.at):
                return value
            if self.take(".*") or self.take("[*]"):
                return self.splat(value)
            if self.take("."):
                found = self.match(NAME) or self.match(re.compile(r"\d+"))
                if not found:
                    raise self.wrong("a name is expected behind `.`")
                value = self.indexed(value, lambda scope, key=found[0]: key)
            elif self.take("["):
                key = self.unwrapped(self.expression, True)
                self.unwrapped(lambda: self.expect("]"), True)
                value = self.indexed(value, key)
            else:
                return value

    def indexed(self, value, key):
        return self.guarded(lambda scope: index(value(scope), key(scope)))

    def splat(self, value):
        rest = self.postfix(lambda scope: scope.find(""))

        def run(scope):
            found = value(scope)
            found = [] if found is None else found if isinstance(found, list) else [found]
            return [rest(scope.inner({"": one})) for one in found]
        return self.guarded(run)

    def primary(self):
        found = self.match(NUMBER)
        if found:
            number = number_of(found[0])
            return lambda scope: number
        if self.take('"'):
            return self.template(True)
        if self.text.startswith("<<", self.at):
            return self.heredoc()
        for token, read in (("(", self.group), ("[", self.tuple), ("{", self.object)):
            if self.take(token):
                return self.unwrapped(read, True)
        found = self.match(NAME)
        if not found:
            there = self.text[self.at:self.at + 10].split("\n")[0] or "the end of the line"
            raise self.wrong(f"a value is expected, not {there!r}")
        name = found[0]
        if self.take("("):
            return self.unwrapped(lambda: self.call(name), True)
        known = {"true": True, "false": False, "null": None}
        if name in known:
            return lambda scope: known[name]
        return self.variable(name)

    def variable(self, name):
        def run(scope):
            try:
                return scope.find(name)
            except KeyError:
                raise ValueError(f"there is no variable {name!r}") from None
        return self.guarded(run)

    def group(self):
        value = self.expression()
        self.expect(")")
        return value

    def call(self, name):
        arguments, spread = [], False
        while True:
            self.blank()
            if self.take(")"):
                break
            arguments.append(self.expression())
            self.blank()
            spread = self.take("...")
            self.blank()
            if not self.take(","):
                self.expect(")")
                break

        def run(scope):
            function = scope.functions.get(name)
            if function is None:
                raise ValueError(f"there is no function {name!r}")
            if name in ("try", "can"):
                return function(scope, arguments)
            values = [argument(scope) for argument in arguments]
            return function(*values[:-1], *values[-1]) if spread else function(*values)
        return self.guarded(run)

    def tuple(self):
        self.blank()
        if self.match(re.compile(r"for\s")):
            return self.loop("]")
        items = []
        while True:
            self.blank()
            if self.take("]"):
                return lambda scope: [item(scope) for item in items]
            items.append(self.expression())
            self.blank()
            if not self.take(","):
                self.expect("]")
                return lambda scope: [item(scope) for item in items]

    def object(self):
        self.blank()
        if self.match(re.compile(r"for\s")):
            return self.loop("}")
        items = []
        while True:
            self.blank(True)
            if self.take("}"):
                break
            found = re.compile(r"([^\W\d][\w-]*)(?=[ \t]*[=:])").match(self.text, self.at)
            if found:
                self.at = found.end()
                key = lambda scope, name=found[1]: name
            else:
                key = self.unwrapped(self.expression)
            self.blank(True)
            if not (self.take("=") or self.take(":")):
                raise self.wrong("`=` is missing behind a key")
            # An item ends with its line.
            items.append((key, self.unwrapped(self.expression)))
            self.blank(True)
            self.take(",")
        return self.guarded(lambda scope: {text_of(key(scope)): value(scope) for key, value in items})

    def of_loop(self):
        """`a, b in collection`: the names, and the collection."""
        names = []
        while True:
            self.blank()
            names.append(self.label())
            self.blank()
            if not self.take(","):
                break
        if not self.match(re.compile(r"in\b")):
            raise self.wrong("`in` is missing in `for`")
        return names, self.expression()

    def loop(self, end):
        """`for a, b in collection : value if condition`, of a list or an object."""
        names, collection = self.of_loop()
        self.expect(":")
        key, groups = None, False
        value = self.expression()
        if end == "}":
            self.expect("=>")
            key, value = value, self.expression()
            self.blank()
            groups = self.take("...")
        self.blank()
        condition = self.expression() if self.match(re.compile(r"if\b")) else None
        self.expect(end)

        def run(scope):
            found, made = [], {}
            for inner in rounds(scope, names, collection(scope)):
                if condition is not None and not truth_of(condition(inner)):
                    continue
                if key is None:
                    found.append(value(inner))
                elif groups:
                    made.setdefault(text_of(key(inner)), []).append(value(inner))
                else:
                    made[text_of(key(inner))] = value(inner)
            return found if key is None else made
        return self.guarded(run)

    # Templates.

    def heredoc(self):
        first = self.place()
        found = self.match(HEREDOC)
        if not found:
            raise self.wrong("a text behind `<<` needs a line with its word alone at the end")
        text = found[3]
        if found[1]:
            lines = [line for line in text.split("\n") if line.strip()]
            indent = min((len(line) - len(line.lstrip()) for line in lines), default=0)
            text = "\n".join(line[indent:] if line.strip() else line for line in text.split("\n"))
        inner = Reader(self.file, text, int(first.rsplit(":", 1)[1]) + 1)
        return inner.template(False)

    def template(self, quoted):
        parts = self.unwrapped(lambda: self.parts(quoted, ())[0], True)
        if len(parts) == 1 and callable(parts[0]):
            # `"${x}"` is x itself.
            return parts[0]
        return self.guarded(lambda scope: filled(parts, scope))

    def parts(self, quoted, stops):
        """Texts and functions, and the directive that ended them."""
        parts = [""]
        trims = False
        while True:
            if self.ends() or (quoted and self.text.startswith('"', self.at)):
                if quoted and not self.take('"'):
                    raise self.wrong("a text is not closed by `\"`")
                if stops:
                    raise self.wrong(f"`%{{{stops[-1]}}}` is missing")
                return [part for part in parts if part != ""] or [""], None
            if self.take("$${") or self.take("%%{"):
                parts[-1] += self.text[self.at - 2:self.at]
            elif self.take("${"):
                trim(parts, self.take("~"))
                value = self.expression()
                self.blank()
                trims = self.take("~")
                self.expect("}")
                parts += [value, ""]
                self.after(trims)
            elif self.text.startswith("%{", self.at):
                found = self.match(DIRECTIVE)
                if not found:
                    raise self.wrong("`%{` begins a directive: if, else, endif, for, endfor")
                trim(parts, found[1])
                if found[2] in stops:
                    return parts, found[2]
                parts += [self.directive(found[2], quoted), ""]
            elif quoted and self.take("\\"):
                parts[-1] += self.escape()
            else:
                parts[-1] += self.text[self.at]
                self.at += 1

    def after(self, trims):
        if trims:
            self.at = re.compile(r"\s*").match(self.text, self.at).end()

    def close(self):
        self.blank()
        trims = self.take("~")
        self.expect("}")
        self.after(trims)

    def escape(self):
        found = self.match(re.compile(r"u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})"))
        if found:
            return chr(int(found[1] or found[2], 16))
        letter = self.text[self.at:self.at + 1]
        if letter not in ESCAPES:
            raise self.wrong(f"`\\{letter}` is not known in a text")
        self.at += 1
        return ESCAPES[letter]

    def directive(self, verb, quoted):
        if verb == "if":
            condition = self.expression()
            self.close()
            yes, stop = self.parts(quoted, ("else", "endif"))
            self.close()
            no = [""]
            if stop == "else":
                no, _ = self.parts(quoted, ("endif",))
                self.close()
            return lambda scope: filled(yes if truth_of(condition(scope)) else no, scope)
        if verb != "for":
            raise self.wrong(f"`%{{{verb}}}` has nothing that it belongs to")
        names, collection = self.of_loop()
        self.close()
        inside, _ = self.parts(quoted, ("endfor",))
        self.close()
        return lambda scope: "".join(
            filled(inside, inner) for inner in rounds(scope, names, collection(scope)))


def rounds(scope, names, collection):
    """The scopes of a `for`."""
    if isinstance(collection, list):
        pairs = list(enumerate(collection))
    elif collection is None or isinstance(collection, (str, bool, int, float)):
        raise ValueError("`for` goes over a list or an object, not " + kind_of(collection))
    else:
        pairs = [(key, collection[key]) for key in sorted(collection)]
    for pair in pairs:
        yield scope.inner(dict(zip(names, pair[-len(names):])))


def trim(parts, wanted):
    if wanted and isinstance(parts[-1], str):
        parts[-1] = parts[-1].rstrip()


def filled(parts, scope):
    return "".join(part if isinstance(part, str) else text_of(part(scope)) for part in parts)


def parse(file, text):
    """The body of a file."""
    return Reader(file, text).body()


def parse_template(file, text):
    """A text with `${…}` in it, as JSON has expressions."""
    return Reader(file, text).template(False)
