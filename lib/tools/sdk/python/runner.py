"""Runs one tool file: `describe FILE` prints its tools, `call FILE NAME` reads an input and prints the result.

R1  Frames are JSON lines on the standard output that the process was started with. The last one is the answer; messages come before it.
R2  Nothing else gets there: descriptor 1 is pointed at standard error before the author's code is loaded, so that a print,
    a C library and a subprocess end up there too.
R3  Once the answer is written the process ends within LINGER_SECONDS, whatever threads, tasks or exit handlers there are.
R4  Every end that Python can see has an answer: an exception, sys.exit(), a value that JSON cannot hold.
R5  What it needs of the standard library to answer it has before the author's code is loaded, which may put something else there.

It is kept ASCII: the source travels in an environment variable, whose encoding is the machine's.
"""
import _thread
import atexit
import sys
from os import _exit, dup, dup2, fdopen, getpid, write
from time import sleep

import stella_sdk as sdk
import tool_file
from json_text import Unholdable, read, to_json

RESULT_BYTES = 65536
LINGER_SECONDS = 1


def main(sources, mode, path, name=None):
    frames = Frames(take_stdout())
    sdk.channel = frames
    answer = Answer(path, sources)
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
    descriptor = dup(1)
    dup2(2, 1)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace", line_buffering=True)
    return descriptor


class Frames:
    """R1. A process that the tool forked off has no say."""

    def __init__(self, descriptor):
        self.descriptor = descriptor
        self.owner = getpid()
        self.lock = _thread.allocate_lock()

    def send(self, message):
        try:
            self.write({"type": "message", "message": message})
        except Unholdable as error:
            raise TypeError("Cannot send a message that JSON cannot hold: %s" % error) from None

    def write(self, frame):
        line = (to_json(frame) + "\n").encode()
        with self.lock:
            while line and getpid() == self.owner:
                line = line[write(self.descriptor, line):]


class Broken(Exception):
    """The file cannot be used."""

    def __init__(self, code, message, **place):
        super().__init__(message)
        self.frame = dict({"type": "failed", "code": code, "message": message}, **place)


class Answer:
    def __init__(self, path, sources):
        self.path = path
        self.sources = sources
        self.loop = None

    def describe(self):
        offer = self.load()
        try:
            frame = {"type": "described", "tools": [sdk.define(each) for each in offer.tools.values()], "notices": offer.notices}
            to_json(frame)
            return frame
        except Unholdable as error:
            raise Broken("tool_invalid", "The tools say of themselves what JSON cannot hold: %s" % error) from None
        except Exception as error:
            raise Broken("tool_invalid", str(error)) from None

    def call(self, name):
        try:
            # First, as the author's code may look at standard input too.
            arguments = read_input(fdopen(0, "rb", closefd=False).read())
            tools = self.load().tools
            if name not in tools:
                raise Broken("no_such_tool", 'Cannot call "%s" as %s no longer has a tool of that name' % (name, self.path))
            return result_frame(to_json(self.finish(sdk.invoke(tools[name], arguments))), False)
        except sdk.ValidationError as error:
            return result_frame(sdk.describe_refusal(error), True)
        except Unholdable as error:
            return result_frame(sdk.describe_unholdable(error), True)
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
        """What the file offers."""
        try:
            offer = tool_file.Offer(tool_file.load(self.path, self.sources))
            offer.give_agent()
            return offer
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


def place_of(error, path):
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {} if line is None else {"line": line}


def read_input(data):
    try:
        return read(data)
    except ValueError as error:
        raise sdk.ValidationError("The input cannot be read: %s" % error) from None


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
        sleep(LINGER_SECONDS)
        _exit(0)

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
        _exit(0)


def cancel_tasks(loop):
    import asyncio

    tasks = asyncio.all_tasks(loop)
    for each in tasks:
        each.cancel()
    if tasks:
        loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.run_until_complete(loop.shutdown_asyncgens())
