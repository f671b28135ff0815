"""A tool file in Python: loading it, and which tools it has.

F1  It is compiled, not imported, so that no __pycache__ appears beside it. Its module is named MODULE_NAME.
F2  A process that `multiprocessing` starts anew, as it does by "spawn" and "forkserver", can import that module too: what it is
    told of this process brings the sources of what loads the file. A pickled function of the file is only a name there.
F3  What the file seems to mean as a tool and cannot be one is told, and keeps no other from being one.

It is kept ASCII: the source travels in an environment variable, whose encoding is the machine's.
"""
import inspect
import os
import sys

import stella_sdk as sdk

MODULE_NAME = "__tool_file__"


def load(path, sources):
    """The file's module. Raises what the file raises."""
    module = type(sys)(MODULE_NAME)
    sys.modules[MODULE_NAME] = module
    sys.argv[:] = [ScriptPath(path, sources)]
    make_importable(os.path.dirname(os.path.abspath(path)))
    fill(module, path)
    return module


def fill(module, path):
    module.__file__ = path
    with open(path, "rb") as file:
        exec(compile(file.read(), path, "exec"), module.__dict__)


def make_importable(folder):
    """After the standard library: a tool file named like one of its modules must not take that one's place."""
    packages = ("site-packages", "dist-packages")
    position = next((index for index, each in enumerate(sys.path) if os.path.basename(each) in packages), len(sys.path))
    sys.path.insert(position, folder)


class ScriptPath(str):
    """The first word of `sys.argv`, which `multiprocessing` hands to every process that it starts anew. Read there, it does F2."""

    def __new__(cls, path, sources):
        made = super().__new__(cls, path)
        made.sources = sources
        return made

    def __reduce__(self):
        return eval, (ARRIVE, {"arrive": ARRIVAL, "path": str(self), "sources": self.sources})


ARRIVE = "exec(arrive) or script"
ARRIVAL = """
import sys

script = path
# Else it is read where it was written: the author has pickled it.
if "stella_sdk" not in sys.modules:
    sys.dont_write_bytecode = True
    for name, source in sources.items():
        module = sys.modules[name] = type(sys)(name)
        exec(compile(source, "<orrery %s>" % name, "exec"), module.__dict__)
    del sys.modules["json_text"]
    script = sys.modules.pop("tool_file").arrive(path, sources)
"""


def arrive(path, sources):
    sys.meta_path.append(Finder(path))
    return ScriptPath(path, sources)


class Finder:
    """Loads the tool file when it is first asked for: by then the process has the import path of the one that started it."""

    def __init__(self, path):
        self.path = path

    def find_spec(self, name, path=None, target=None):
        return type(os.__spec__)(name, self, origin=self.path) if name == MODULE_NAME else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        fill(module, self.path)
        Offer(module).give_agent()


class Offer:
    """What a loaded file offers: `tools` by name, and `notices` about what it may have meant to."""

    def __init__(self, module):
        self.notices = []
        self.unmade = []
        self.values = unique(vars(module).values())
        self.classes = [each for each in self.values if isinstance(each, type) and each.__module__ == MODULE_NAME]
        self.agents = self.make_agents(module)
        registered = [each for agent in self.agents for each in agent._registered().values()]
        made = top_level(module)
        # Of two with one name the later is offered, and one that an agent registers before any other.
        placed = in_order(self.values, made) + self.make_tools(made + registered)
        placed.sort(key=lambda each: each[0])
        self.tools = {each.name: each for each in [tool for _, tool in placed] + registered}
        self.note_methods()

    def give_agent(self):
        """`agent`, where a tool's module has no such name, is the file's first agent."""
        agent = self.agents[0] if self.agents else sdk.BaseAgent()
        for each in self.tools.values():
            function = each.__wrapped__ if isinstance(each, sdk.FunctionTool) else type(each).execute
            getattr(function, "__globals__", {}).setdefault("agent", agent)

    def make_agents(self, module):
        """Those that the file has made, and one of each class that it has made none of, nor of one that is derived from it."""
        agents = [each for name, each in vars(module).items() if isinstance(each, sdk.BaseAgent) and belongs(module, name, each)]
        agents = unique(agents)
        for each in self.classes:
            if issubclass(each, sdk.BaseAgent) and not self.is_base(each) and not any(isinstance(known, each) for known in agents):
                agents += self.make(each)
        return agents

    def make_tools(self, known):
        """One of each class of which there is none. One that says too little of itself to be a tool is there to derive others from."""
        made = []
        for each in self.classes:
            if not issubclass(each, sdk.Tool) or any(type(other) is each for other in known):
                continue
            is_base = self.is_base(each) or any(isinstance(other, each) for other in known)
            if is_base and (not each.name or each.execute is sdk.Tool.execute or inspect.isabstract(each)):
                continue
            made += [(defined(each), tool) for tool in self.make(each)]
        return made

    def is_base(self, of):
        return any(each is not of and issubclass(each, of) for each in self.classes)

    def make(self, of):
        """An instance, or none of what cannot be made without being told more."""
        missing = missing_arguments(of)
        if not missing and not inspect.isabstract(of):
            return [of()]
        why = "its %s() needs %s" % missing if missing else "it is abstract"
        remedy = "Make one at the top level of the file, or have it need no arguments." if missing else "Derive a class from it that is not."
        self.unmade.append(of)
        self.note(of, "class_not_made", "The class %s is not used, as %s" % (of.__name__, why), remedy)
        return []

    def note_methods(self):
        offered = {id(function_of(each)) for each in self.tools.values()}
        for owner in [each for each in self.classes if each not in self.unmade]:
            for each in vars(owner).values():
                method = getattr(each, "__func__", each) if isinstance(each, (classmethod, staticmethod)) else each
                if isinstance(method, sdk.FunctionTool) and id(function_of(method)) not in offered and method.name not in self.tools:
                    message = 'The method "%s" of %s is no tool of the file, as no agent registers it' % (method.name, owner.__name__)
                    self.note(function_of(method), "method_not_registered", message, "Have an agent call self.register_tool() with it.")

    def note(self, about, code, message, remedy):
        notice = {"code": code, "message": message, "remedy": remedy}
        line = line_of(about)
        self.notices.append(notice if line is None else dict(notice, line=line))


def unique(values):
    """Each once, by what it is: what a file has at its top level may be neither hashable nor comparable."""
    return list({id(each): each for each in values}.values())


def top_level(module):
    """What was imported from elsewhere is a tool of this file only if `__all__` says so."""
    return unique(each for name, each in vars(module).items() if isinstance(each, sdk.Tool) and belongs(module, name, each))


def belongs(module, name, value):
    if name in getattr(module, "__all__", ()):
        return True
    if isinstance(value, sdk.FunctionTool):
        return value.__module__ == MODULE_NAME
    elsewhere = sys.modules.get(type(value).__module__)
    return elsewhere is module or not any(each is value for each in vars(elsewhere).values())


def in_order(values, tools):
    """Tools with the place where each was defined: another value for a name does not move the name among the others."""
    placed, latest = [], 0
    for each in values:
        if any(each is tool for tool in tools):
            # When an instance was made nobody knows, but that it was after its class and what stands above it.
            place = defined(each) if isinstance(each, sdk.FunctionTool) else max(latest, defined(type(each)))
            latest = max(latest, place)
            placed.append((place, each))
        elif isinstance(each, type) and issubclass(each, sdk.Tool):
            latest = max(latest, defined(each))
    return placed


def defined(each):
    return vars(each).get("_defined", 0)


def missing_arguments(of):
    """The method that needs arguments and their names, or None."""
    for name in "__init__", "__new__":
        function = getattr(of, name)
        if function in (object.__init__, object.__new__):
            continue
        try:
            parameters = list(inspect.signature(function).parameters.values())[1:]
        except (TypeError, ValueError):
            # Written in another language: it is tried.
            continue
        needed = [each.name for each in parameters if each.default is each.empty and each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]
        if needed:
            return name, ", ".join('"%s"' % each for each in needed)
    return None


def function_of(tool):
    """What the author wrote, also of a tool that is bound."""
    function = tool.__wrapped__ if isinstance(tool, sdk.FunctionTool) else type(tool).execute
    return inspect.unwrap(getattr(function, "__func__", function))


def line_of(about):
    code = getattr(inspect.unwrap(about.__init__ if isinstance(about, type) else about), "__code__", None)
    return None if code is None or code.co_filename.startswith("<orrery") else code.co_firstlineno
