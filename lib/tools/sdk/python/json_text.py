"""JSON as it is read for a call and written of its result: exactly, or not at all.

What it needs of the standard library it takes before the author's code is loaded, which may put something else there.
It is kept ASCII: the source travels in an environment variable, whose encoding is the machine's.
"""
from json import dumps, loads

MAX_DEPTH = 256
TOO_DEEP = f"it is nested too deeply: {MAX_DEPTH} levels are the most"


class Written(float):
    """A number whose text says more than a float holds: 12345678901234567890.0 is another int than its float."""

    whole = None


def read(text):
    """Raises ValueError. What is `Written` in it is a float again after `settle`."""
    return loads(text, parse_constant=refuse_number, parse_float=read_number)


def read_number(text):
    number = float(text)
    if abs(number) == float("inf"):
        refuse_number(text)
    if not number.is_integer():
        return number
    whole = whole_of(text)
    if whole == number and whole == int(number):
        return number
    written = Written(number)
    written.whole = whole
    return written


def refuse_number(text):
    raise ValueError("%s is not a number that Python can hold" % (text if len(text) <= 60 else text[:60] + "..."))


def whole_of(text):
    """The int that a decimal number is, None if it is none. It is no longer than a float is large: 309 digits."""
    mantissa, _, exponent = text.lower().partition("e")
    front, _, fraction = mantissa.lstrip("-").partition(".")
    written = front + fraction
    digits = written.strip("0")
    if not digits:
        return 0
    try:
        zeros = len(written) - len(written.rstrip("0")) - len(fraction) + int(exponent or 0)
    except ValueError:
        # An exponent of thousands of digits, of a number that is not too large: it is next to nothing.
        return None
    if zeros < 0:
        return None
    return int(digits) * 10 ** zeros * (-1 if mantissa.startswith("-") else 1)


def settle(members):
    """Makes plain floats of the numbers in a list or dict, in place."""
    pending, seen = [members], set()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        for key, member in each.items() if isinstance(each, dict) else enumerate(each):
            if type(member) is Written:
                each[key] = float(member)
            elif type(member) in (dict, list):
                pending.append(member)


class Unholdable(Exception):
    """A value that JSON cannot hold. The message says where."""


def is_too_deep(value):
    """Only for what has been written: it does not contain itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [member for each in level for member in members_of(each)]
    return any(isinstance(each, (dict, list, tuple)) for each in level)


def members_of(value):
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, (list, tuple)) else ()


def to_json(value):
    """Raises Unholdable."""
    try:
        text = dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if has_twin_keys(value):
            raise Unholdable(find_fault(value, "the value", ()))
        if is_too_deep(value):
            raise Unholdable(TOO_DEEP)
        text.encode()
        return text
    except UnicodeEncodeError:
        # Half of a surrogate pair, which no encoding has: it stays an escape.
        return dumps(value, allow_nan=False, separators=(",", ":"))
    except RecursionError:
        raise Unholdable(TOO_DEEP) from None
    except (TypeError, ValueError) as error:
        raise Unholdable(find_fault(value, "the value", ()) or str(error)) from None


def has_twin_keys(value):
    """Whether an object has keys that are one in JSON, of which a reader would keep the last."""
    pending = [value]
    while pending:
        each = pending.pop()
        if isinstance(each, dict):
            if twin_key(each) is not None:
                return True
            pending.extend(each.values())
        elif isinstance(each, (list, tuple)):
            pending.extend(each)
    return False


def twin_key(members):
    if all(type(key) is str for key in members):
        return None
    seen = set()
    for key in members:
        # As json writes it: {1: ...} has the key "1".
        text = key if isinstance(key, str) else dumps(key)
        if text in seen:
            return text
        seen.add(text)
    return None


def find_fault(value, place, above):
    """The first thing in a value that is not JSON."""
    if value is None or isinstance(value, (bool, str)):
        return None
    if isinstance(value, int):
        return None if is_writable(value) else "%s is an int of more digits than Python writes" % place
    if isinstance(value, float):
        return None if value - value == 0 else "%s is %s" % (place, value)
    if not isinstance(value, (dict, list, tuple)):
        return "%s is of type %s" % (place, type(value).__name__)
    if any(value is each for each in above):
        return "%s contains itself" % place
    if isinstance(value, dict) and all(key is None or isinstance(key, (str, int, float)) for key in value):
        twin = twin_key(value)
        if twin is not None:
            return "%s has two keys that are %s in JSON" % (place, dumps(twin))
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in members:
        if isinstance(value, dict) and not (key is None or isinstance(key, (str, int, float))):
            return "a key of %s is of type %s" % (place, type(key).__name__)
        if isinstance(key, float) and key - key != 0:
            return "a key of %s is %s" % (place, key)
        fault = find_fault(each, "%s[%s]" % ("" if place == "the value" else place, dumps(key)), above + (value,))
        if fault:
            return fault
    return None


def is_writable(number):
    try:
        return bool(int.__repr__(number))
    except ValueError:
        return False
