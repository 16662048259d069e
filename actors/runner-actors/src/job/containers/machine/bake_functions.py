"""The functions that expressions of a bake file call.
https://github.com/docker/buildx/blob/master/docs/bake-stdlib.md
"""

import base64
import csv
import datetime
import functools
import hashlib
import io
import json
import math
import os
import posixpath
import re
import urllib.parse
import uuid

from hcl_values import Wrong, number_of, same, text_of, truth_of, whole


def try_(scope, arguments):
    for argument in arguments:
        try:
            return argument(scope)
        except Wrong as error:
            last = error
    raise last


def can(scope, arguments):
    try:
        arguments[0](scope)
    except Wrong:
        return False
    return True


def list_of(value):
    if not isinstance(value, list):
        raise ValueError("a list is needed")
    return value


def first_of(values, wanted, words):
    for value in values:
        if wanted(value):
            return value
    raise ValueError(f"{words} has nothing but empty values")


def pattern_of(pattern):
    """Go's expressions name groups as Python does; `\\z` is its end."""
    try:
        return re.compile(pattern.replace("\\z", "\\Z"))
    except re.error as error:
        raise ValueError(f"the pattern {pattern!r} is none: {error}") from None


def groups_of(found):
    if found.re.groupindex:
        return found.groupdict()
    return list(found.groups()) if found.re.groups else found[0]


def regex(pattern, text):
    found = pattern_of(pattern).search(text)
    if found is None:
        raise ValueError(f"nothing of the text is like {pattern!r}")
    return groups_of(found)


def regex_replace(text, pattern, replacement):
    plain = re.sub(r"\$\{?(\w+)\}?", r"\\g<\1>", replacement)
    return pattern_of(pattern).sub(plain, text)


def replace(text, old, new):
    return text.replace(old, new)


def format_(form, *values):
    """Verbs of Go: %s %d %v %q %t %f %x and friends, with widths."""
    values = list(values)

    def one(match):
        flags, verb = match[1], match[2]
        if verb == "%":
            return "%"
        if not values:
            raise ValueError(f"format: {match[0]} has no value")
        value = values.pop(0)
        if verb == "v":
            is_text = isinstance(value, (str, bool, int, float))
            value, verb = (text_of(value) if is_text else json.dumps(value, separators=(",", ":"))), "s"
        elif verb == "q":
            value, verb = json.dumps(text_of(value)), "s"
        elif verb in "st":
            value, verb = text_of(value), "s"
        elif verb in "dxXobc":
            value = int(number_of(value))
            if verb == "b":
                return f"{value:{flags}b}"
        else:
            value = float(number_of(value))
        return f"%{flags}{verb}" % value
    return re.sub(r"%([-+# 0]*\d*(?:\.\d+)?)([%a-zA-Z])", one, form)


def title(text):
    return re.sub(r"\b\w", lambda found: found[0].upper(), text)


def merge(*objects):
    made = {}
    for one in objects:
        made.update(one or {})
    return made


def flatten(value):
    made = []
    for one in value:
        made += flatten(one) if isinstance(one, list) else [one]
    return made


def distinct(values):
    made = []
    for one in values:
        if not any(same(one, other) for other in made):
            made.append(one)
    return made


def product(*lists):
    made = [[]]
    for values in lists:
        made = [[*before, value] for before in made for value in values]
    return made


def semver(version):
    found = re.match(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([\w.-]+))?", version)
    if not found:
        raise ValueError(f"{version!r} is no version")
    numbers = [int(part or 0) for part in found.groups()[:3]]
    # A release comes after what led to it.
    parts = [(0, int(part), "") if part.isdigit() else (1, 0, part) for part in (found[4] or "").split(".")]
    return numbers, found[4] is None, parts


def semvercmp(left, right):
    left, right = semver(left), semver(right)
    return (left > right) - (left < right)


def lookup(collection, key, *other):
    if key in collection:
        return collection[key]
    if other:
        return other[0]
    raise ValueError(f"there is no {key!r} in it")


def indexof(values, wanted):
    for at, one in enumerate(values):
        if same(one, wanted):
            return at
    raise ValueError("the list does not have it")


def slice_(values, start, end):
    return values[int(start):int(end)]


def substr(text, offset, length):
    offset, length = int(offset), int(length)
    offset = len(text) + offset if offset < 0 else offset
    return text[offset:] if length < 0 else text[offset:offset + length]


def chunklist(values, size):
    size = int(size)
    return [values[at:at + size] for at in range(0, len(values), size)] if size > 0 else [values]


def range_(*words):
    start, end, step = [[0, *words], list(words)][len(words) > 1][:2] + list(words[2:] or [1])
    return list(range(int(start), int(end), int(step)))


def csvdecode(text):
    return [dict(row) for row in csv.DictReader(io.StringIO(text))]


def timestamp():
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


DATES = {"YYYY": "%Y", "YY": "%y", "MMMM": "%B", "MMM": "%b", "MM": "%m", "DD": "%d", "hh": "%H", "HH": "%I",
         "mm": "%M", "ss": "%S", "EEEE": "%A", "EEE": "%a", "AA": "%p", "ZZZZ": "+0000", "Z": "Z"}


def formatdate(form, when):
    moment = datetime.datetime.fromisoformat(when.replace("Z", "+00:00"))
    pattern = "|".join(sorted(DATES, key=len, reverse=True))
    return re.sub(rf"'([^']*)'|{pattern}",
                  lambda found: found[1] if found[1] is not None else moment.strftime(DATES[found[0]]), form)


def timeadd(when, duration):
    seconds = sum(float(amount) * {"h": 3600, "m": 60, "s": 1, "ms": 0.001}[unit]
                  for amount, unit in re.findall(r"(-?[\d.]+)(ms|h|m|s)", duration))
    moment = datetime.datetime.fromisoformat(when.replace("Z", "+00:00"))
    return (moment + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def hashed(name):
    return lambda text: hashlib.new(name, text.encode()).hexdigest()


def number(run):
    return lambda *values: whole(run(*map(number_of, values)))


def sets(run):
    """Of lists as sets, in their order."""
    def done(*lists):
        return functools.reduce(run, map(distinct, lists))
    return done


FUNCTIONS = {
    "abs": number(abs), "add": number(lambda left, right: left + right),
    "and": lambda left, right: truth_of(left) and truth_of(right),
    "base64decode": lambda text: base64.b64decode(text).decode(),
    "base64encode": lambda text: base64.b64encode(text.encode()).decode(),
    "basename": posixpath.basename, "byteslen": lambda text: len(text.encode()), "can": can,
    "ceil": number(math.ceil), "chomp": lambda text: text.rstrip("\r\n"), "chunklist": chunklist,
    "coalesce": lambda *values: first_of(values, lambda value: value is not None, "coalesce"),
    "coalescelist": lambda *values: first_of(values, bool, "coalescelist"),
    "compact": lambda values: [value for value in values if value],
    "concat": lambda *lists: [one for values in lists for one in list_of(values)],
    "contains": lambda values, wanted: any(same(one, wanted) for one in values),
    "csvdecode": csvdecode, "dirname": posixpath.dirname, "distinct": distinct,
    "divide": number(lambda left, right: left / right),
    "element": lambda values, at: values[int(at) % len(values)], "equal": same, "flatten": flatten,
    "floor": number(math.floor), "format": format_, "formatdate": formatdate,
    "formatlist": lambda form, *lists: [format_(form, *row) for row in zip(*lists)],
    "greaterthan": lambda left, right: number_of(left) > number_of(right),
    "greaterthanorequalto": lambda left, right: number_of(left) >= number_of(right),
    "hasindex": lambda values, key: key in values if not isinstance(values, list) else 0 <= key < len(values),
    "homedir": lambda: os.path.expanduser("~"),
    "indent": lambda count, text: text.replace("\n", "\n" + " " * int(count)),
    "index": lambda values, key: values[int(key) if isinstance(values, list) else key],
    "indexof": indexof, "int": number(math.trunc),
    "join": lambda glue, *lists: glue.join(text_of(one) for values in lists for one in values),
    "jsondecode": json.loads, "jsonencode": lambda value: json.dumps(value, separators=(",", ":")),
    "keys": sorted, "length": len, "lessthan": lambda left, right: number_of(left) < number_of(right),
    "lessthanorequalto": lambda left, right: number_of(left) <= number_of(right),
    "log": number(math.log), "lookup": lookup, "lower": str.lower, "max": number(max), "md5": hashed("md5"),
    "merge": merge, "min": number(min), "modulo": number(lambda left, right: left % right),
    "multiply": number(lambda left, right: left * right), "negate": number(lambda value: -value),
    "not": lambda value: not truth_of(value), "notequal": lambda left, right: not same(left, right),
    "or": lambda left, right: truth_of(left) or truth_of(right),
    "parseint": lambda text, base: int(text, int(base)), "pow": number(lambda left, right: left ** right),
    "range": range_, "regex": regex, "regex_replace": regex_replace,
    "regexall": lambda pattern, text: [groups_of(found) for found in pattern_of(pattern).finditer(text)],
    "replace": replace, "reverse": lambda text: text[::-1],
    "reverselist": lambda values: values[::-1],
    "sanitize": lambda text: re.sub(r"[^\w]", "_", text, flags=re.ASCII), "semvercmp": semvercmp,
    "sethaselement": lambda values, wanted: any(same(one, wanted) for one in values),
    "setintersection": sets(lambda left, right: [one for one in left if one in right]),
    "setproduct": product, "setsubtract": sets(lambda left, right: [one for one in left if one not in right]),
    "setunion": sets(lambda left, right: distinct(left + right)), "sha1": hashed("sha1"),
    "sha256": hashed("sha256"), "sha512": hashed("sha512"),
    "signum": number(lambda value: (value > 0) - (value < 0)), "slice": slice_, "sort": sorted,
    "split": lambda glue, text: text.split(glue) if text else [""], "strlen": len, "substr": substr,
    "subtract": number(lambda left, right: left - right), "timeadd": timeadd, "timestamp": timestamp,
    "title": title, "trim": lambda text, what: text.strip(what),
    "trimprefix": lambda text, what: text.removeprefix(what), "trimspace": str.strip,
    "trimsuffix": lambda text, what: text.removesuffix(what), "try": try_, "upper": str.upper,
    "urlencode": urllib.parse.quote_plus, "uuidv4": lambda: str(uuid.uuid4()),
    "values": lambda collection: [collection[key] for key in sorted(collection)],
    "zipmap": lambda keys, values: dict(zip(keys, values)),
}
