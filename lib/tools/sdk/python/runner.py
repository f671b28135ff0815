"""Runs one tool file: `describe FILE` prints its tools, `call FILE NAME` reads an input and prints the result.

R1  Frames are JSON lines on the standard output that the process was started with. The last one is the answer; messages come before it.
R2  Nothing else gets there: descriptor 1 is pointed at standard error before the author's code is loaded, so that a print,
    a C library and a subprocess end up there too.
R3  Once the answer is written the process ends within LINGER_SECONDS, whatever threads, tasks or exit handlers there are.
R4  Every end that Python can see has an answer: an exception, sys.exit(), a value that JSON cannot hold.

It is kept ASCII: the source travels in an environment variable, whose encoding is the machine's.
"""
import _thread
import atexit
import json
import os
import sys
import time

import stella_sdk as sdk

RESULT_BYTES = 65536
LINGER_SECONDS = 1
MODULE_NAME = "__tool_file__"


def main(mode, path, name=None):
    frames = Frames(take_stdout())
    sdk.channel = frames
    answer = Answer(path)
    try:
        frame = answer.describe() if mode == "describe" else answer.call(name)
    except Broken as broken:
        frame = broken.frame
    try:
        frames.write(frame)
    except OSError as error:
        # Nobody reads any more; what is left is to end.
        sdk.report(error)
    leave(answer.loop)


def take_stdout():
    """R2."""
    descriptor = os.dup(1)
    os.dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)
    return descriptor


class Frames:
    """R1. A process that the tool forked off has no say."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.owner = os.getpid()
        self.lock = _thread.allocate_lock()

    def send(self, message):
        try:
            self.write({"type": "message", "message": message})
        except Unholdable as error:
            raise TypeError("Cannot send a message that JSON cannot hold: %s" % error) from None

    def write(self, frame):
        line = (to_json(frame) + "\n").encode()
        with self.lock:
            while line and os.getpid() == self.owner:
                line = line[os.write(self.descriptor, line):]


class Broken(Exception):
    """The file cannot be used."""

    def __init__(self, code, message, **place):
        super().__init__(message)
        self.frame = dict({"type": "failed", "code": code, "message": message}, **place)


class Answer:
    def __init__(self, path):
        self.path = path
        self.loop = None

    def describe(self):
        tools = self.load().values()
        try:
            frame = {"type": "described", "tools": [sdk.define(each) for each in tools]}
            to_json(frame)
            return frame
        except Unholdable as error:
            raise Broken("tool_invalid", "The tools say of themselves what JSON cannot hold: %s" % error) from None
        except Exception as error:
            raise Broken("tool_invalid", str(error)) from None

    def call(self, name):
        try:
            # First, as the author's code may look at standard input too.
            arguments = read_input(os.fdopen(0, "rb", closefd=False).read())
            tools = self.load()
            if name not in tools:
                raise Broken("no_such_tool", 'Cannot call "%s" as %s no longer has a tool of that name' % (name, self.path))
            return result_frame(to_json(self.finish(sdk.invoke(tools[name], arguments))), False)
        except sdk.ValidationError as error:
            return result_frame(sdk.describe_refusal(error), True)
        except Unholdable as error:
            return result_frame("The tool returned what JSON cannot hold: %s" % error, True)
        except SystemExit as error:
            return result_frame(sdk.describe_exit(error), True)
        except Broken:
            raise
        except BaseException as error:
            sdk.report(error)
            return result_frame(sdk.describe_error(error), True)

    def finish(self, result):
        """Waits for what an async tool gave us."""
        if not hasattr(result, "__await__"):
            return result
        import asyncio

        # Before 3.10 a lock or queue made while the file was loaded belongs to the loop that get_event_loop() gives.
        self.loop = asyncio.get_event_loop() if sys.version_info < (3, 10) else asyncio.new_event_loop()
        asyncio.set_event_loop(self.loop)

        async def wait():
            return await result

        return self.loop.run_until_complete(wait())

    def load(self):
        """The file's tools by name. It is compiled, not imported, so that no __pycache__ appears beside it."""
        module = type(sys)(MODULE_NAME)
        module.__file__ = self.path
        sys.modules[MODULE_NAME] = module
        sys.argv[:] = [self.path]
        make_importable(os.path.dirname(os.path.abspath(self.path)))
        try:
            with open(self.path, "rb") as file:
                exec(compile(file.read(), self.path, "exec"), module.__dict__)
            return collect(module)
        except Broken:
            raise
        except SyntaxError as error:
            sdk.report(error)
            if error.filename != self.path:
                raise Broken("python_syntax", "Cannot load the file: %s" % error, **place_of(error, self.path)) from None
            place = {key: value for key, value in (("line", error.lineno), ("column", error.offset)) if value}
            raise Broken("python_syntax", "Cannot load the file: %s" % error.msg, **place) from None
        except SystemExit as error:
            raise Broken("python_exit", "Cannot load the file as it ends Python with sys.exit(%r)" % (error.code,)) from None
        except Exception as error:
            sdk.report(error)
            raise Broken("python_load", "Cannot load the file: %s" % sdk.describe_error(error), **place_of(error, self.path)) from None


def make_importable(folder):
    """After the standard library: a tool file named like one of its modules must not take that one's place."""
    packages = ("site-packages", "dist-packages")
    position = next((index for index, each in enumerate(sys.path) if os.path.basename(each) in packages), len(sys.path))
    sys.path.insert(position, folder)


def place_of(error, path):
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {} if line is None else {"line": line}


def collect(module):
    """Tools of the file's top level, then those of its agents: of two with one name the later is offered.

    `agent`, if the file has no such name, is the first agent.
    """
    classes = [each for each in vars(module).values() if isinstance(each, type) and each.__module__ == MODULE_NAME]
    agents = [each() for each in leaves(classes, sdk.BaseAgent)]
    made, registered = top_level(module), [each for agent in agents for each in agent._registered().values()]
    unmade = [each for each in leaves(classes, sdk.Tool) if not any(isinstance(known, each) for known in made + registered)]
    tools = {}
    for each in unique(vars(module).values()):
        if contains(unmade, each):
            each = each()
        elif not contains(made, each):
            continue
        tools[each.name] = each
    tools.update((each.name, each) for each in registered)
    agent = agents[0] if agents else sdk.BaseAgent()
    for each in tools.values():
        function = each.__wrapped__ if isinstance(each, sdk.FunctionTool) else type(each).execute
        getattr(function, "__globals__", {}).setdefault("agent", agent)
    return tools


def contains(several, one):
    return any(each is one for each in several)


def unique(values):
    """Each once, by what it is: what a file has at its top level may be neither hashable nor comparable."""
    return list({id(each): each for each in values}.values())


def leaves(classes, base):
    """Those that nothing else in the file is derived from, each once."""
    own = list(dict.fromkeys(each for each in classes if issubclass(each, base)))
    return [each for each in own if not any(other is not each and issubclass(other, each) for other in own)]


def top_level(module):
    """What was imported from elsewhere is a tool of this file only if `__all__` says so."""
    exported = getattr(module, "__all__", ())
    tools = [(name, each) for name, each in vars(module).items() if isinstance(each, sdk.Tool)]
    return [each for name, each in tools if not isinstance(each, sdk.FunctionTool) or each.__module__ == MODULE_NAME or name in exported]


def read_input(data):
    try:
        return json.loads(data, parse_constant=refuse_number, parse_float=finite)
    except ValueError as error:
        raise sdk.ValidationError("The input cannot be read: %s" % error) from None


def finite(text):
    number = float(text)
    return number if abs(number) != float("inf") else refuse_number(text)


def refuse_number(text):
    raise ValueError("%s is not a number that Python can hold" % text)


class Unholdable(Exception):
    """A value that JSON cannot hold. The message says where."""


MAX_DEPTH = 256
TOO_DEEP = f"it is nested too deeply: {MAX_DEPTH} levels are the most"


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
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if has_twin_keys(value):
            raise Unholdable(find_fault(value, "the value", ()))
        if is_too_deep(value):
            raise Unholdable(TOO_DEEP)
        text.encode()
        return text
    except UnicodeEncodeError:
        # Half of a surrogate pair, which no encoding has: it stays an escape.
        return json.dumps(value, allow_nan=False, separators=(",", ":"))
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
        text = key if isinstance(key, str) else json.dumps(key)
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
            return "%s has two keys that are %s in JSON" % (place, json.dumps(twin))
    members = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in members:
        if isinstance(value, dict) and not (key is None or isinstance(key, (str, int, float))):
            return "a key of %s is of type %s" % (place, type(key).__name__)
        if isinstance(key, float) and key - key != 0:
            return "a key of %s is %s" % (place, key)
        fault = find_fault(each, "%s[%s]" % ("" if place == "the value" else place, json.dumps(key)), above + (value,))
        if fault:
            return fault
    return None


def is_writable(number):
    try:
        return bool(int.__repr__(number))
    except ValueError:
        return False


def result_frame(text, is_error):
    """What is longer than a result may be is cut here, so that it does not travel: the reader puts the two ends together."""
    data = text.encode("utf-8", "replace")
    frame = {"type": "result", "is_error": is_error}
    if len(data) <= RESULT_BYTES:
        return dict(frame, text=data.decode())
    ends = {"head": data[:RESULT_BYTES].decode("utf-8", "ignore"), "tail": data[-RESULT_BYTES:].decode("utf-8", "ignore")}
    return dict(frame, bytes=len(data), **ends)


def leave(loop):
    """R3. Tasks are cancelled and exit handlers run as far as the time goes; threads are not waited for."""

    def insist():
        time.sleep(LINGER_SECONDS)
        os._exit(0)

    try:
        _thread.start_new_thread(insist, ())
        if loop is not None:
            cancel_tasks(loop)
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except BaseException as error:
        sdk.report(error)
    finally:
        os._exit(0)


def cancel_tasks(loop):
    import asyncio

    tasks = asyncio.all_tasks(loop)
    for each in tasks:
        each.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
