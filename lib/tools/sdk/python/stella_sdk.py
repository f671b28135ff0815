"""What `from stella_sdk import ...` means in a tool file that Orrery runs. Python 3.9 or newer, standard library only.

It is kept ASCII: the source travels in an environment variable, whose encoding is the machine's.
"""
import enum
import inspect
import itertools
import json
import os
import sys
import time
from contextvars import ContextVar
from types import MethodType

import json_text

__all__ = ["BaseAgent", "TodoItem", "Tool", "ValidationError", "tool"]

DEFAULT_TIMEOUT_MS = 30000
MAX_TIMEOUT_MS = 600000


class ValidationError(Exception):
    """The input is wrong in a way the model can put right: its message becomes the call's error, without a stack."""


class Tool:
    """A tool as a class. A subclass sets the attributes and has `execute`, which may be `async`."""

    name = ""
    description = ""
    parameters = None
    read_only = False
    speculation_safe = False
    approval = "never"
    timeout_ms = DEFAULT_TIMEOUT_MS

    def __init_subclass__(cls, **options):
        super().__init_subclass__(**options)
        cls._defined = next(definitions)

    def execute(self, **arguments):
        raise NotImplementedError("%s has no execute()" % type(self).__name__)


# Of two tools with one name the later is meant.
definitions = itertools.count(1)


def tool(function=None, *, name=None, description=None, read_only=False, speculation_safe=False, approval="never", timeout_ms=DEFAULT_TIMEOUT_MS):
    """Makes a function a tool, as `@tool` or `@tool(read_only=True)`. It can still be called as before."""
    owner = sys._getframe(1).f_globals.get("__name__")

    def decorate(decorated):
        if not callable(inner_of(decorated)):
            raise TypeError("Cannot use @tool on %r as it is not a function" % (decorated,))
        return FunctionTool(decorated, owner, {
            "name": inner_of(decorated).__name__ if name is None else name,
            "description": description,
            "read_only": read_only,
            "speculation_safe": speculation_safe,
            "approval": approval,
            "timeout_ms": timeout_ms,
        })

    return decorate if function is None else decorate(function)


def inner_of(decorated):
    """The function itself, of one that is a class method or a static one."""
    return decorated.__func__ if isinstance(decorated, (classmethod, staticmethod)) else decorated


class FunctionTool(Tool):
    """A decorated function. In a class it is a method as any: looked up on an object, it is the tool without its `self`."""

    def __init__(self, decorated, owner, options):
        function = inner_of(decorated)
        for attribute in ("__name__", "__qualname__", "__doc__"):
            setattr(self, attribute, getattr(function, attribute, None))
        self.__isabstractmethod__ = getattr(decorated, "__isabstractmethod__", False)
        self.__module__ = owner
        self.__wrapped__ = function
        self._binds = kind_of(decorated)
        self._defined = next(definitions)
        for option, value in options.items():
            setattr(self, option, value)
        if self.description is None:
            self.description = parse_docstring(function.__doc__, ())[0]

    def __get__(self, instance, owner=None):
        if self._binds == "class":
            return self.bound_to(type(instance) if owner is None else owner)
        return self.bound_to(instance) if self._binds == "instance" and instance is not None else self

    def bound_to(self, target):
        bound = object.__new__(type(self))
        bound.__dict__.update(self.__dict__, __wrapped__=MethodType(self.__wrapped__, target), _binds=None)
        return bound

    def is_unbound(self):
        """Whether it cannot be called without an object or class that it does not know."""
        return self._binds == "class" or self._binds == "instance" and next(iter(inspect.signature(self.__wrapped__).parameters), "") == "self"

    def __reduce__(self):
        """By its name, as a function is pickled: for `multiprocessing`, and the like."""
        if isinstance(self.__wrapped__, MethodType):
            return getattr, (self.__wrapped__.__self__, self.__name__)
        return self.__qualname__

    @property
    def parameters(self):
        return schema_of_signature(self.__wrapped__)

    def __call__(self, *positional, **named):
        return self.__wrapped__(*positional, **named)

    def execute(self, **arguments):
        return self.__wrapped__(**arguments)


def kind_of(decorated):
    """What a function is bound to where it is looked up. One that a class only refers to is none of its methods."""
    if isinstance(decorated, classmethod):
        return "class"
    above = (getattr(decorated, "__qualname__", None) or "").rpartition(".")[0]
    is_method = above and not above.endswith("<locals>") and not isinstance(decorated, (staticmethod, MethodType))
    return "instance" if is_method else None


class TodoItem:
    """One line of a to-do list. `status`: pending, in_progress or completed."""

    def __init__(self, id, description, status="pending", required=True):
        self.id = id
        self.description = description
        self.status = status
        self.required = required


class BaseAgent:
    """An agent in code: tools, a system prompt and a history. A subclass brings `generate_response`.

    The `send_` and `update_` methods send at once and may be awaited or not, so that they work in `def` tools too.
    """

    tools = ()
    history = ()
    system_prompt = ""

    def __init__(self):
        self.history = []

    def register_tool(self, new):
        """Registers a decorated function, a plain one, or an instance of a `Tool` class, in the place of one that has its name."""
        if isinstance(new, type) and issubclass(new, Tool):
            new = new()
        made = self._tool_of(new)
        self._registered()[made.name] = made

    def get_tool_definitions(self):
        """The tools in the shape that chat completions take."""
        definitions = [define(each) for each in self._registered().values()]
        keys = ("name", "description", "parameters")
        return [{"type": "function", "function": {key: each[key] for key in keys}} for each in definitions]

    async def execute_tool(self, name, arguments):
        """What the tool returns. What went wrong is `{"error": message}`, so that a loop can hand it to the model.

        A tool's sys.exit() is that too. KeyboardInterrupt and asyncio.CancelledError, which end more than a call, are raised.
        """
        made = self._make(name, arguments)
        result = await self._execute(name, arguments)
        if made is not None:
            made.returned = result
        return result

    async def _execute(self, name, arguments):
        try:
            found = self._registered().get(name)
            if found is None:
                raise ValidationError('There is no tool named "%s". There are: %s' % (name, ", ".join(self._registered()) or "none"))
            result = invoke(found, json_text.read(arguments) if isinstance(arguments, str) else arguments)
            result = await result if inspect.isawaitable(result) else result
            json_text.to_json(result)
            return result
        except ValidationError as error:
            return Failure(describe_refusal(error))
        except json_text.Unholdable as error:
            return Failure(describe_unholdable(error))
        except SystemExit as error:
            return Failure(describe_exit(error))
        except Exception as error:
            report(error)
            return Failure(describe_error(error))

    def send_status(self, status, message=None):
        return self.send({"type": "agent_status", "data": without_none(status=status, message=message)})

    def send_tool_call(self, name, arguments, call_id=None):
        """`arguments` may be the JSON text that the model wrote. A call without `call_id` is given one, which its result will carry too."""
        nameless = call_id is None
        if nameless:
            call_id = "call_" + os.urandom(8).hex()
        open_calls = self._open_calls()
        open_calls[call_id] = OpenCall(call_id, name, arguments, nameless)
        if len(open_calls) > MOST_OPEN_CALLS:
            del open_calls[next(iter(open_calls))]
        return self.send({"type": "tool_call", "data": {"tool_name": name, "arguments": to_object(arguments), "call_id": call_id}})

    def send_tool_result(self, call_id, result, error=None):
        """A `call_id` that was not sent with a call is the model's, of a call that was sent without one.

        It is the one that returned this, or was sent by the task that sends the result, or the oldest.
        """
        open_calls = self._open_calls()
        if call_id not in open_calls:
            call_id = next((each.id for each in self._nameless(result)), call_id)
        open_calls.pop(call_id, None)
        if error is None and isinstance(result, Failure):
            error = result["error"]
        return self.send({"type": "tool_result", "data": dict({"call_id": call_id, "result": result}, **without_none(error=error))})

    def send_progress(self, task_id, progress, message=None):
        """`progress` goes from 0 to 100."""
        return self.send({"type": "progress_update", "data": without_none(task_id=task_id, progress=progress, message=message)})

    def update_todo(self, items):
        """Sends the whole list."""
        return self.send({"type": "todo_list", "data": {"items": [to_todo(each) for each in items], "timestamp": timestamp()}})

    def send(self, message):
        """Sends `{"type": ..., "data": ...}` to whoever watches the session."""
        channel.send(dict(message, timestamp=message.get("timestamp") or timestamp()))
        return Sent()

    async def generate_response(self, user_input):
        raise NotImplementedError("%s has no generate_response()" % type(self).__name__)

    def _registered(self):
        """Filled at first use: a subclass may set `tools` late, and its __init__ need not call ours."""
        if "_tools" not in self.__dict__:
            self._tools = {}
            for each in self.tools:
                self.register_tool(each)
        return self._tools

    def _tool_of(self, new):
        """A method that is registered by its bare name in the class, as in `tools = [order_status]`, is the agent's own."""
        if isinstance(new, (classmethod, staticmethod)):
            new = new.__get__(self, type(self))
        if isinstance(new, MethodType) and isinstance(new.__func__, FunctionTool):
            # What `@classmethod` above `@tool` gives since Python 3.13.
            return new.__func__.bound_to(new.__self__)
        made = new if isinstance(new, Tool) else tool(new)
        if not isinstance(made, FunctionTool) or not made.is_unbound():
            return made
        own = any(each is new for owner in type(self).__mro__ for each in vars(owner).values())
        return made.bound_to(self) if own else made

    def _open_calls(self):
        return self.__dict__.setdefault("_calls_open", {})

    def _nameless(self, result):
        """Calls that were sent without an id, the likeliest to have this result first."""
        own = sent_here.get()
        nameless = [each for each in self._open_calls().values() if each.nameless]
        return sorted(nameless, key=lambda each: (each.distance_to(result), each.id not in own, each.made))

    def _make(self, name, arguments):
        """The call that was sent and is made now: with these arguments, by this task if several are."""
        own = sent_here.get()
        fitting = [each for each in self._open_calls().values() if not each.made and each.name == name and is_equal(to_object(each.arguments), to_object(arguments))]
        made = next((each for each in fitting if each.id in own), fitting[0] if fitting else None)
        if made is not None:
            made.made = True
        return made


NOTHING = object()
MOST_OPEN_CALLS = 1000

# Ids of calls that the task which runs, or one that it was started by, has sent.
sent_here = ContextVar("sent_here", default=())


class OpenCall:
    """A call that was sent and has no result yet."""

    def __init__(self, id, name, arguments, nameless):
        self.id = id
        self.name = name
        self.arguments = arguments
        self.nameless = nameless
        self.made = False
        self.returned = NOTHING
        sent_here.set(sent_here.get()[1 - MOST_OPEN_CALLS:] + (id,))

    def distance_to(self, result):
        """Results that are equal may be those of several calls: the very same is nearest."""
        return 0 if self.returned is result else 1 if is_equal(self.returned, result) else 2


def is_equal(one, other):
    try:
        return bool(one == other)
    except Exception:
        # The author's own comparison, or a value that contains itself.
        return False


class Failure(dict):
    """What `execute_tool` returns for a call that failed: JSON like any other, and told apart by its class."""

    def __init__(self, message):
        super().__init__(error=message)


class Sent:
    """Something already done that may be awaited, or handed to `asyncio.create_task`, or left alone."""

    def __await__(self):
        return iter(())

    def send(self, value):
        raise StopIteration

    def throw(self, *error):
        raise StopIteration

    def close(self):
        pass


class Channel:
    """Where messages go. The runner puts a real one in place."""

    def send(self, message):
        pass


channel = Channel()


def define(each):
    """A tool as Orrery lists it. Raises TypeError or ValueError for what cannot be one."""
    label = 'tool "%s"' % each.name if each.name else type(each).__name__
    if not isinstance(each.name, str) or not each.name:
        raise ValueError("Cannot offer %s as it has no name" % label)
    if isinstance(each, FunctionTool) and each.is_unbound():
        raise ValueError("Cannot offer %s as it is a method without its object: register it as self.%s, or as that of an object" % (label, each.__name__))
    parameters = each.parameters
    if parameters is None:
        parameters = schema_of_signature(each.execute)
    description = each.description or parse_docstring(None if isinstance(each, FunctionTool) else type(each).__doc__, ())[0]
    if not isinstance(each, FunctionTool) and type(each).execute is Tool.execute:
        raise ValueError("Cannot offer %s as it has no execute()" % label)
    check_spelling(each, label)
    approval = {True: "always", False: "never"}.get(each.approval, each.approval)
    if approval not in ("never", "always", "destructive"):
        raise ValueError('Cannot offer %s as approval must be "never", "always" or "destructive": %r' % (label, each.approval))
    if type(each.timeout_ms) is not int or each.timeout_ms < 1:
        raise ValueError("Cannot offer %s as timeout_ms must be a whole number above 0: %r" % (label, each.timeout_ms))
    return {
        "name": each.name,
        "description": description,
        "parameters": parameters,
        "read_only": bool(each.read_only),
        "speculation_safe": bool(each.speculation_safe),
        "approval": approval,
        "timeout_ms": min(each.timeout_ms, MAX_TIMEOUT_MS),
    }


FIELDS = ("read_only", "speculation_safe", "approval", "timeout_ms")


def check_spelling(each, label):
    """A field that means nothing as it is written, and its author means it."""
    for key in dir(each):
        meant = next((field for field in FIELDS if field.replace("_", "") == key.replace("_", "").lower()), key)
        if meant != key:
            raise ValueError('Cannot offer %s as it has "%s", which is written "%s"' % (label, key, meant))


def invoke(each, arguments):
    """Calls a tool with named arguments. Raises ValidationError if they do not fit its signature."""
    if not isinstance(arguments, dict):
        raise ValidationError("The arguments must be an object, not %s" % type(arguments).__name__)
    function = each.__wrapped__ if isinstance(each, FunctionTool) else each.execute
    positional, named = bind(function, arguments)
    json_text.settle(named)
    json_text.settle(positional)
    return function(*positional, **named)


def bind(function, arguments):
    parameters = inspect.signature(function).parameters.values()
    named, positional = dict(arguments), []
    for parameter in parameters:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue
        if parameter.name not in named:
            if parameter.default is parameter.empty:
                raise ValidationError('The argument "%s" is missing' % parameter.name)
            if parameter.kind is parameter.POSITIONAL_ONLY:
                positional.append(parameter.default)
            continue
        named[parameter.name] = convert(function, parameter, named[parameter.name])
        if parameter.kind is parameter.POSITIONAL_ONLY:
            positional.append(named.pop(parameter.name))
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        unknown = sorted(set(named) - {parameter.name for parameter in parameters})
        if unknown:
            raise ValidationError("There is no argument named %s" % ", ".join('"%s"' % each for each in unknown))
    return positional, named


def convert(function, parameter, value):
    if value is None and parameter.default is None:
        return None
    try:
        return to_member(parameter.annotation, globals_of(function), value, parameter.name)
    except TypeError:
        # A class tool has its own schema: its annotations are for type checkers, and may name what is not there.
        return value


def to_member(annotation, names, value, name):
    """The value as the annotation wants it: a member of an Enum, and an int where JSON has 3.0, wherever it is."""
    annotation = resolve(annotation, names)
    if annotation is int:
        return to_int(value, name)
    if is_enum(annotation):
        try:
            return annotation(value)
        except ValueError:
            raise ValidationError('"%s" must be one of %s' % (name, json.dumps([each.value for each in annotation]))) from None
    origin, inner = parts_of(annotation)
    if origin == "annotated":
        return to_member(inner[0], names, value, name)
    if origin == "union":
        candidates = [resolve(each, names) for each in inner if each is not type(None)]
        if int in candidates and float not in candidates:
            value = to_int(value, name)
        return to_member(candidates[0], names, value, name) if value is not None and len(candidates) == 1 else value
    if origin == "literal":
        return next((each for each in inner if is_same(each.value if is_enum(type(each)) else each, value)), value)
    if origin == "array" and inner and isinstance(value, list):
        return [to_member(inner[0], names, each, name) for each in value]
    if origin == "object" and inner and isinstance(value, dict):
        return {key: to_member(inner[1], names, each, name) for key, each in value.items()}
    return value


def to_int(value, name):
    """JSON Schema takes 3.0 for an integer."""
    if type(value) is json_text.Written:
        if value.whole is None:
            raise ValidationError('"%s" must be a whole number, and is next to one' % name)
        return value.whole
    return int(value) if type(value) is float and value.is_integer() else value


def is_same(one, other):
    """As JSON has it: 1 is 1.0, and not true."""
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def schema_of_signature(function):
    """The JSON Schema of a function's parameters."""
    parameters = [each for each in inspect.signature(function).parameters.values() if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
    descriptions = parse_docstring(function.__doc__, [each.name for each in parameters])[1]
    properties, required = {}, []
    for parameter in parameters:
        try:
            schema, note = schema_of(parameter.annotation, globals_of(function))
        except TypeError as error:
            raise TypeError('Cannot describe parameter "%s" of "%s": %s' % (parameter.name, getattr(function, "__name__", function), error)) from None
        if parameter.default is None:
            schema = nullable(schema)
        description = descriptions.get(parameter.name, note)
        if description:
            schema["description"] = description
        if parameter.default is parameter.empty:
            required.append(parameter.name)
        elif parameter.default is not None:
            default = parameter.default.value if is_enum(type(parameter.default)) else parameter.default
            if is_json(default):
                schema["default"] = default
        properties[parameter.name] = schema
    return {"type": "object", "properties": properties, "required": required}


SIMPLE = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array", dict: "object", type(None): "null"}


def schema_of(annotation, names):
    """A JSON Schema, and the text of an `Annotated[T, "text"]`. Raises TypeError for a type that JSON does not have."""
    annotation = resolve(annotation, names)
    if annotation is inspect.Parameter.empty or annotation is object or str(annotation) == "typing.Any":
        return {}, None
    if annotation is None:
        annotation = type(None)
    if isinstance(annotation, type) and annotation in SIMPLE:
        return {"type": SIMPLE[annotation]}, None
    if is_enum(annotation):
        return schema_of_values([each.value for each in annotation]), None
    origin, inner = parts_of(annotation)
    if origin == "annotated":
        notes = [each for each in inner[1:] if isinstance(each, str)]
        return schema_of(inner[0], names)[0], notes[0] if notes else None
    if origin == "literal":
        return schema_of_values([each.value if is_enum(type(each)) else each for each in inner]), None
    if origin == "union":
        return schema_of_union([schema_of(each, names)[0] for each in inner]), None
    if origin == "array":
        items = schema_of(inner[0], names)[0] if inner else {}
        return dict({"type": "array"}, **({"items": items} if items else {})), None
    if origin == "object":
        if inner and inner[0] is not str:
            raise TypeError("the keys of a JSON object are str, not %s" % describe_type(inner[0]))
        values = schema_of(inner[1], names)[0] if inner else {}
        return dict({"type": "object"}, **({"additionalProperties": values} if values else {})), None
    raise TypeError("%s has no JSON Schema; use str, int, float, bool, list, dict, Optional, Literal or Enum" % describe_type(annotation))


def parts_of(annotation):
    """What kind of generic type it is, in JSON's words, and its arguments."""
    origin = getattr(annotation, "__origin__", None)
    arguments = getattr(annotation, "__args__", ())
    metadata = getattr(annotation, "__metadata__", None)
    if metadata is not None:
        return "annotated", (origin,) + metadata
    if type(annotation).__name__ in ("UnionType", "Union") or str(origin) == "typing.Union":
        return "union", arguments
    if str(origin) == "typing.Literal":
        return "literal", arguments
    # typing.List without brackets has an origin and type variables for arguments.
    concrete = tuple(each for each in arguments if type(each).__name__ != "TypeVar")
    name = getattr(origin, "__name__", "")
    if origin is list or name in ("Sequence", "Iterable", "Collection"):
        return "array", concrete
    if origin is dict or name in ("Mapping", "MutableMapping"):
        return "object", concrete
    return None, ()


def schema_of_union(members):
    if all(set(each) == {"type"} for each in members):
        types = [each["type"] for each in members]
        return {"type": types[0] if len(types) == 1 else types}
    rest = [each for each in members if each != {"type": "null"}]
    if not all(rest):
        return {}
    schema = rest[0] if len(rest) == 1 else {"anyOf": rest}
    return nullable(schema) if len(rest) < len(members) else schema


def nullable(schema):
    """The same schema, with null."""
    if not schema or schema.get("type") == "null":
        return schema
    if "anyOf" in schema:
        branches = schema["anyOf"]
        return schema if {"type": "null"} in branches else dict(schema, anyOf=branches + [{"type": "null"}])
    widened = dict(schema)
    if "type" in schema:
        types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
        widened["type"] = types if "null" in types else types + ["null"]
    if "enum" in schema and None not in schema["enum"]:
        widened["enum"] = schema["enum"] + [None]
    return widened


def schema_of_values(values):
    for each in values:
        if not is_json(each) or isinstance(each, (list, dict)):
            raise TypeError("%r is not a JSON text, number, boolean or null" % (each,))
    types = []
    for each in values:
        name = SIMPLE[next(base for base in (bool, int, float, str, type(None)) if isinstance(each, base))]
        if name not in types:
            types.append(name)
    return {"type": types[0] if len(types) == 1 else types, "enum": values}


def globals_of(function):
    return getattr(inspect.unwrap(function), "__globals__", {})


def resolve(annotation, names):
    """The annotation as a type, also if it is written as a text, wholly or in a part."""
    for _ in range(4):
        text = getattr(annotation, "__forward_arg__", annotation)
        if not isinstance(text, str):
            break
        annotation = evaluate(text, names)
    return annotation


def evaluate(text, names):
    try:
        if sys.version_info < (3, 10) and "|" in text:
            return evaluate_unions(text, names)
        return eval(text, names)
    except Exception as error:
        raise TypeError("the annotation %s cannot be read: %s" % (text, error)) from None


def evaluate_unions(text, names):
    """`A | B` is a type only since Python 3.10: it is read as Union[A, B]."""
    import ast
    import typing

    class Unions(ast.NodeTransformer):
        def visit_BinOp(self, node):
            self.generic_visit(node)
            if not isinstance(node.op, ast.BitOr):
                return node
            pair = ast.Tuple(elts=[node.left, node.right], ctx=ast.Load())
            return ast.Subscript(value=ast.Name(id="__union__", ctx=ast.Load()), slice=pair, ctx=ast.Load())

    tree = ast.fix_missing_locations(Unions().visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "<annotation>", "eval"), dict(names, __union__=typing.Union))


def is_enum(annotation):
    return isinstance(annotation, type) and issubclass(annotation, enum.Enum)


def is_json(value):
    try:
        json.dumps(value, allow_nan=False)
        return True
    except (TypeError, ValueError, RecursionError):
        return False


SECTIONS = ("args:", "arguments:", "parameters:", "params:")
OTHER_SECTIONS = ("returns:", "return:", "raises:", "yields:", "yield:", "example:", "examples:", "note:", "notes:", "attributes:", "see also:", "todo:", "warning:", "warnings:", "references:")


def parse_docstring(text, names):
    """The summary, and the descriptions of the named parameters, of a docstring in Google's style."""
    lines = inspect.cleandoc(text).splitlines() if text else []
    summary, descriptions = [], {}
    position = 0
    while position < len(lines) and lines[position].strip() and lines[position].strip().lower() not in SECTIONS + OTHER_SECTIONS:
        summary.append(lines[position].strip())
        position += 1
    inside, current, indent = False, None, 0
    for line in lines[position:]:
        stripped = line.strip()
        depth = len(line) - len(line.lstrip())
        if stripped.lower() in SECTIONS + OTHER_SECTIONS:
            inside, current = stripped.lower() in SECTIONS, None
            continue
        if not inside or not stripped:
            continue
        name, colon, description = stripped.partition(":")
        name = name.split("(")[0].strip().lstrip("*") if colon else ""
        if name in names and (current is None or depth <= indent):
            current, indent = name, depth
            descriptions[name] = description_of(stripped)
        elif current is not None and depth > indent:
            descriptions[current] = (descriptions[current] + " " + stripped).strip()
        else:
            current = None
    return " ".join(summary), descriptions


def description_of(line):
    """What follows the colon of `name: text` or `name (type, with: colons): text`."""
    head = line.split(":", 1)[0]
    if "(" in head and ")" not in head:
        return line[line.find("):") + 2:].strip() if "):" in line else ""
    return line.split(":", 1)[1].strip()


def describe_type(annotation):
    return annotation.__qualname__ if isinstance(annotation, type) else str(annotation)


def text_of(error):
    try:
        return str(error)
    except Exception:
        # An error whose own text cannot be made.
        return ""


def describe_error(error):
    message = text_of(error)
    return message if type(error) is Exception and message else "%s: %s" % (type(error).__name__, message) if message else type(error).__name__


def describe_refusal(error):
    """Of a ValidationError: its message, without the name; the name if it has none."""
    return text_of(error) or type(error).__name__


def describe_unholdable(error):
    return "The tool returned what JSON cannot hold: %s" % error


def describe_exit(error):
    return "The tool ended Python with sys.exit(%s)" % ("" if error.code is None else repr(error.code))


def report(error):
    """The stack of an error, for people, on standard error."""
    import traceback

    # Our own frames, which have no file, say nothing to the author.
    trace = traceback.TracebackException(type(error), error, error.__traceback__)
    for each in chain_of(trace):
        each.stack = traceback.StackSummary.from_list([frame for frame in each.stack if not frame.filename.startswith("<orrery")])
    sys.stderr.write("".join(trace.format()))


def chain_of(trace):
    seen = []
    pending = [trace]
    while pending:
        each = pending.pop()
        if each is not None and each not in seen:
            seen.append(each)
            pending += [each.__cause__, each.__context__]
    return seen


def to_object(arguments):
    if not isinstance(arguments, str):
        return arguments
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except ValueError:
        return {"malformed_arguments": arguments}
    return value if isinstance(value, dict) else {"malformed_arguments": arguments}


def to_todo(item):
    read = item.get if isinstance(item, dict) else lambda key, default: getattr(item, key, default)
    return {
        "id": str(read("id", "")),
        "description": read("description", ""),
        "status": read("status", "pending"),
        "required": bool(read("required", True)),
    }


def timestamp():
    now = time.time()
    return "%s.%03dZ" % (time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now)), int(now * 1000) % 1000)


def without_none(**members):
    return {key: value for key, value in members.items() if value is not None}
