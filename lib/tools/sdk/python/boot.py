import os, sys

# What lies beside a tool file is a part of what was trusted: nothing is to appear there by a call.
sys.dont_write_bytecode = True
if sys.version_info < (3, 9):
    sys.stdout.write('{"type":"failed","code":"python_old","message":"python3 is version %s here, and a .py tool needs 3.9 or newer"}\n' % sys.version.split()[0])
    sys.exit()
# The folder it starts in comes first for python3 -c: whatever lies there would be imported in place of the standard library.
if sys.path[:1] == [""]:
    sys.path.pop(0)
sources = {}
for name in "json_text", "stella_sdk", "tool_file", "runner":
    sources[name] = os.environ.pop("ORRERY_" + name.upper())
    module = sys.modules[name] = type(sys)(name)
    exec(compile(sources[name], "<orrery %s>" % name, "exec"), module.__dict__)
# The author's own files may have these names.
runner = [sys.modules.pop(name) for name in ("json_text", "tool_file", "runner")].pop()
runner.main({name: sources[name] for name in ("json_text", "stella_sdk", "tool_file")}, *sys.argv[1:])
