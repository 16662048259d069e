"""Values of HCL: what they are called, how they become each other, and what operators do."""


class Wrong(Exception):
    """What a file says wrongly, in words that name the place."""


def text_of(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return str(whole(value))
    if isinstance(value, str):
        return value
    raise ValueError("a text is needed, not " + kind_of(value))


def kind_of(value):
    kinds = [(bool, "a boolean"), ((int, float), "a number"), (str, "a text"), (list, "a list")]
    if value is None:
        return "null"
    return next((name for kind, name in kinds if isinstance(value, kind)), "an object")


def whole(value):
    return int(value) if isinstance(value, float) and value.is_integer() else value


def number_of(value):
    if isinstance(value, str):
        try:
            return whole(float(value))
        except ValueError:
            pass
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("a number is needed, not " + kind_of(value))
    return value


def truth_of(value):
    if value in ("true", "false"):
        return value == "true"
    if not isinstance(value, bool):
        raise ValueError("a condition is a boolean, not " + kind_of(value))
    return value


def same(left, right):
    """As HCL has it: values of two types are never equal."""
    if isinstance(left, bool) != isinstance(right, bool):
        return False
    return left == right


def index(value, key):
    if isinstance(value, list):
        place = number_of(key)
        if place != int(place) or not 0 <= place < len(value):
            raise ValueError(f"the list has no element {key}")
        return value[int(place)]
    if value is None or isinstance(value, (str, bool, int, float)):
        raise ValueError(f"{kind_of(value)} has no {key!r}")
    key = text_of(key)
    if key not in value:
        raise ValueError(f"there is no {key!r} in it")
    return value[key]


OPERATIONS = {
    "||": lambda left, right: truth_of(left) or truth_of(right),
    "&&": lambda left, right: truth_of(left) and truth_of(right),
    "==": same,
    "!=": lambda left, right: not same(left, right),
    "<=": lambda left, right: number_of(left) <= number_of(right),
    ">=": lambda left, right: number_of(left) >= number_of(right),
    "<": lambda left, right: number_of(left) < number_of(right),
    ">": lambda left, right: number_of(left) > number_of(right),
    "+": lambda left, right: whole(number_of(left) + number_of(right)),
    "-": lambda left, right: whole(number_of(left) - number_of(right)),
    "*": lambda left, right: whole(number_of(left) * number_of(right)),
    "/": lambda left, right: whole(number_of(left) / number_of(right)),
    "%": lambda left, right: whole(number_of(left) % number_of(right)),
}
