/** Which tools a Python file has, by what it defines, and what it is told of the rest. */
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Description } from "../../../lib/tools/sdk/description.ts";
import { python } from "../../../lib/tools/sdk/python-tool.ts";
import { callPythonAt, placeOf, runLaunch } from "./run-launch.ts";

let folder = "";
beforeAll(() => void (folder = mkdtempSync(join(tmpdir(), "orrery-python-file-"))));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

let written = 0;
function write(text: string, name = `file_${++written}.py`): string {
  const path = join(folder, name);
  writeFileSync(path, text);
  return path;
}

async function describeText(text: string): Promise<Description> {
  return python.readDescription(await runLaunch(python.describe(write(text), placeOf(), 20_000)));
}

async function offer(text: string): Promise<{ readonly tools: readonly string[]; readonly notices: readonly string[] }> {
  const described = await describeText(text);
  if (described.kind === "broken") throw new Error(JSON.stringify(described.diagnostics));
  return { tools: described.tools.map(({ name }) => name), notices: described.notices.map(({ message }) => message) };
}

const CLASSES = `
from stella_sdk import Tool

class Base(Tool):
    description = "d"
    def execute(self, q: str): return [self.name, q]

class Named(Tool):
    name = "named_base"

class Search(Base):
    name = "search"

class Fast(Search, Named):
    name = "fast"

class Same(Search):
    def execute(self, q: str): return ["same", q]
`;

describe("a class that others are derived from", () => {
  test("is a tool too if it says what a tool must, and gives way to a derived one of its name", async () => {
    expect(await offer(CLASSES)).toEqual({ tools: ["search", "fast"], notices: [] });
    expect((await callPythonAt(write(CLASSES), "search", { q: "x" })).result.data).toEqual(["same", "x"]);
  });

  test("is one beside an instance of a derived one", async () => {
    expect((await offer(`${CLASSES}\ndel Same\nquick = Fast()\n`)).tools).toEqual(["search", "fast"]);
  });
});

describe("a class that needs arguments", () => {
  const agent = `
from stella_sdk import BaseAgent, Tool, tool

@tool
def unrelated(): return type(agent).__name__

@tool
def who(): return agent.who

class Helper(BaseAgent):
    made = 0
    def __init__(self, who="nobody"):
        super().__init__()
        Helper.made += 1
        self.who = who + str(Helper.made)
        self.register_tool(who_is)

@tool
def who_is(): return agent.who
`;
  const strict = agent.replace('who="nobody"', "who");

  test("is told of, and keeps no other tool from being one", async () => {
    const described = await describeText(strict);
    expect(described).toMatchObject({
      kind: "described",
      tools: [{ name: "unrelated" }, { name: "who" }, { name: "who_is" }],
      notices: [{
        severity: "warning",
        code: "class_not_made",
        line: 12,
        message: 'The class Helper is not used, as its __init__() needs "who"',
        remedy: "Make one at the top level of the file, or have it need no arguments.",
      }],
    });
    expect((await callPythonAt(write(strict), "unrelated", {})).result.data).toBe("BaseAgent");
  });

  for (
    const [how, text, expected] of [["with", `${strict}\nagent = Helper("me")`, "me1"], [
      "by another name",
      `${strict}\nmine = Helper("me")`,
      "me1",
    ]] as const
  ) {
    test(`is used as the file has made one, ${how}`, async () => {
      expect((await offer(text)).notices).toEqual([]);
      expect((await callPythonAt(write(text), "who", {})).result.data).toBe(expected);
    });
  }

  test("by default gets none, and is made once", async () => {
    expect((await callPythonAt(write(agent), "who", {})).result.data).toBe("nobody1");
    expect((await callPythonAt(write(`${agent}\nagent = Helper("me")`), "who", {})).result.data).toBe("me1");
  });

  test("is no different if it is a tool, or derived from one that needs them", async () => {
    const tools = `
from abc import ABC, abstractmethod
from stella_sdk import BaseAgent, Tool
class Index(Tool):
    name = "index"
    def __init__(self, path, *, size=1): self.path = path
    def execute(self): return self.path
class Small(Index):
    name = "small"
class Late(BaseAgent, ABC):
    @abstractmethod
    def later(self): pass
`;
    expect(await offer(tools)).toEqual({
      tools: [],
      notices: [
        "The class Late is not used, as it is abstract",
        'The class Index is not used, as its __init__() needs "path"',
        'The class Small is not used, as its __init__() needs "path"',
      ],
    });
    const made = await offer(`${tools}\ndel Late\nindex = Index("/a")\nsmall = Small("/b")\n`);
    expect(made).toEqual({ tools: ["index", "small"], notices: [] });
  });
});

const METHODS = `
from stella_sdk import BaseAgent, tool

class Orders(BaseAgent):
    def __init__(self):
        super().__init__()
        self.base = 10
        for each in self.status, self.of_class, self.of_class_too, self.plain, self.plain_too, self.undecorated:
            self.register_tool(each)

    @tool(read_only=True)
    def status(self, n: int) -> int:
        """Tell the status.

        Args:
            n: The order
        """
        return self.base + n

    @tool(read_only=True)
    @classmethod
    def of_class(cls, n: int): return [cls.__name__, n]

    @classmethod
    @tool(read_only=True)
    def of_class_too(cls, n: int): return [cls.__name__, n]

    @tool(read_only=True)
    @staticmethod
    def plain(n: int): return n

    @staticmethod
    @tool(read_only=True)
    def plain_too(n: int): return n

    def undecorated(self, n: int): return self.base - n

    @tool(read_only=True)
    async def listed(self, n: int): return self.base * n

    tools = [listed]

class Sub(Orders):
    def __init__(self):
        super().__init__()
        self.base = 20

    @tool
    def status(self, n: int) -> int:
        "Tell it otherwise."
        return super().status(n) + 1000
`;

describe("a method as a tool", () => {
  test("has no self in its schema, in whatever order it is decorated", async () => {
    const described = await describeText(METHODS.split("class Sub")[0] ?? "");
    if (described.kind === "broken") throw new Error(JSON.stringify(described.diagnostics));
    const all = ["listed", "status", "of_class", "of_class_too", "plain", "plain_too", "undecorated"];
    expect(described.tools.map(({ name }) => name)).toEqual(all);
    for (const { name, parameters, read_only } of described.tools) {
      expect(Object.keys(parameters["properties"] as object)).toEqual(["n"]);
      expect(parameters["required"]).toEqual(["n"]);
      expect(read_only).toBe(name !== "undecorated");
    }
    expect(described.tools[1]).toMatchObject({
      description: "Tell the status.",
      parameters: { properties: { n: { type: "integer", description: "The order" } } },
    });
    expect(described.notices).toEqual([]);
  });

  const answers: Readonly<Record<string, unknown>> = {
    listed: 40,
    status: 1022,
    of_class: ["Sub", 2],
    of_class_too: ["Sub", 2],
    plain: 2,
    plain_too: 2,
    undecorated: 18,
  };
  for (const [name, value] of Object.entries(answers)) {
    test(`is called on the agent that registered it: ${name}`, async () => {
      expect((await callPythonAt(write(METHODS), name, { n: 2 })).result).toMatchObject({ is_error: false, data: value });
    });
  }

  test("stays callable as it was", async () => {
    const text = `${METHODS}
@tool
def calls():
    a = Orders()
    return [a.status(1), Orders.status(a, 2), Orders.of_class(3), a.of_class_too(4), Orders.plain(5), a.plain_too(6), Sub().status(7)]
`;
    expect((await callPythonAt(write(text), "calls", {})).result.data).toEqual([11, 12, ["Orders", 3], ["Orders", 4], 5, 6, 1027]);
  });

  test("that nobody registers is told of", async () => {
    const text = "from stella_sdk import tool\nclass Shop:\n    @tool\n    def price(self, n: int): return n\n";
    expect(await describeText(`${text}@tool\ndef other(): return Shop().price(2)\n`)).toMatchObject({
      kind: "described",
      tools: [{ name: "other" }],
      notices: [{
        code: "method_not_registered",
        line: 3,
        message: 'The method "price" of Shop is no tool of the file, as no agent registers it',
      }],
    });
  });

  test("that is offered without its object is refused by name", async () => {
    const text = "from stella_sdk import BaseAgent, tool\nclass Shop:\n    @tool\n    def price(self, n: int): return n\n";
    for (const use of ["price = Shop.price", "class A(BaseAgent):\n    tools = [Shop.price]"]) {
      expect(await describeText(`${text}${use}\n`)).toMatchObject({
        kind: "broken",
        diagnostics: [{
          code: "tool_invalid",
          message: 'Cannot offer tool "price" as it is a method without its object: register it as self.price, or as that of an object',
        }],
      });
    }
  });

  test("is none where a class only refers to a function", async () => {
    const text = `
from stella_sdk import BaseAgent, tool
@tool
def weather(city: str): return "sunny in " + city
class A(BaseAgent):
    weather = weather
    tools = [weather]
    def ask(self): return self.weather("Oslo")
@tool
def ask(): return agent.ask()
`;
    expect((await callPythonAt(write(text), "ask", {})).result.data).toBe("sunny in Oslo");
    expect((await callPythonAt(write(text), "weather", { city: "Rome" })).result.data).toBe("sunny in Rome");
  });
});

describe("of two tools with one name", () => {
  const of = (name: string, value: number) => `@tool(name="x")\ndef ${name}(): return ${value}\n`;
  const one = "class One(Tool):\n    name = 'x'\n    def execute(self): return 'one'\n";
  const orders: readonly (readonly [string, unknown])[] = [
    [`${of("a", 1)}first = a\n${of("a", 2)}`, 2],
    [`${of("a", 1)}${of("b", 2)}first = a\n`, 2],
    [`${one}${of("a", 1)}`, 1],
    [`${of("a", 1)}${one}`, "one"],
    [`${one}${of("a", 1)}it = One()\n`, "one"],
    [`${of("a", 1)}${one}other = One\n${of("a", 2)}`, 2],
  ];
  for (const [text, value] of orders) {
    test(`the later is offered, whatever other names it has: ${JSON.stringify(text)}`, async () => {
      expect((await callPythonAt(write(`from stella_sdk import Tool, tool\n${text}`), "x", {})).result.data).toBe(value);
    });
  }
});

describe("what a file imports", () => {
  test("is a tool of its only if __all__ names it, however it was made", async () => {
    write(
      `
from stella_sdk import BaseAgent, Tool, tool
class Search(Tool):
    name = "search"
    def execute(self): return 1
class Helper(BaseAgent):
    def __init__(self, word="x"):
        super().__init__()
        self.register_tool(helped)
@tool
def helped(): return 1
search = Search()
agent = Helper()
`,
      "parts_of_others.py",
    );
    const imports = "from parts_of_others import Helper, Search, agent, helped, search\n";
    expect((await offer(imports)).tools).toEqual([]);
    expect((await offer(`${imports}__all__ = ["agent", "search"]\n`)).tools).toEqual(["search", "helped"]);
    expect((await offer(`${imports}mine = Helper('y')\nown = Search()\n`)).tools).toEqual(["search", "helped"]);
  });
});

describe("a process that multiprocessing starts", () => {
  const text = `
import concurrent.futures, multiprocessing
from stella_sdk import tool
FACTOR = 3
def scale(n): return n * FACTOR
@tool
def double(n: int): return n * 2
def again(n):
    with multiprocessing.get_context("spawn").Pool(1) as pool: return pool.map(scale, [n])
class Point:
    def __init__(self, n): self.n = n
    @tool
    def grow(self, by: int): return self.n + by
@tool
def work(how: str):
    context = multiprocessing.get_context(how)
    with context.Pool(2) as pool:
        return [pool.map(scale, [1, 2]), pool.map(double, [1, 2]), pool.map(Point(1).grow, [1, 2])]
@tool
def nested():
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return list(pool.map(again, [1, 2]))
`;
  for (const how of ["fork", "spawn", "forkserver"]) {
    test(`knows the functions and tools of the file: ${how}`, async () => {
      expect((await callPythonAt(write(text), "work", { how })).result).toMatchObject({ is_error: false, data: [[3, 6], [2, 4], [2, 3]] });
    }, 20_000);
  }

  test("is all that changes by the words that it is told", async () => {
    const words = `
import pickle, sys
import stella_sdk
from stella_sdk import tool
@tool
def words():
    again = pickle.loads(pickle.dumps(sys.argv))
    return [again == sys.argv, [type(each).__name__ for each in again], sys.modules["stella_sdk"] is stella_sdk]
`;
    expect((await callPythonAt(write(words), "words", {})).result.data).toEqual([true, ["str"], true]);
  });

  test("may start further ones", async () => {
    expect((await callPythonAt(write(text), "nested", {})).result.data).toEqual([[3], [6]]);
  }, 20_000);
});

const NUMBERS = `
from stella_sdk import BaseAgent, tool
@tool
def show(n: int = None, many: list[int] = None, half: float = None, rest: object = None):
    return [repr(each) for each in (n, many, half, rest)] + [type(each).__name__ for each in (half, rest)]
class A(BaseAgent):
    tools = [show]
@tool
async def through(text: str):
    return await agent.execute_tool("show", text)
`;

describe("a number in the input of a Python tool", () => {
  const ints: Readonly<Record<string, string>> = {
    "12345678901234567890.0": "12345678901234567890",
    "-12345678901234567890.00E+0": "-12345678901234567890",
    "1e30": "1000000000000000000000000000000",
    "1.5e1": "15",
    "-0.0": "0",
    "0e99999999999999": "0",
    [`${"1".repeat(30)}00e-2`]: "1".repeat(30),
    [`1.${"0".repeat(200_000)}`]: "1",
  };
  for (const [given, shown] of Object.entries(ints)) {
    test(`is the int that was written: ${given.slice(0, 40)}`, async () => {
      const path = write(NUMBERS);
      const input = `{"n":${given},"many":[${given}]}`;
      const expected = [shown, `[${shown}]`, "None", "None", "NoneType", "NoneType"];
      expect((await callPythonAt(path, "show", input)).result.data).toEqual(expected);
      expect((await callPythonAt(path, "through", { text: input })).result.data).toEqual(expected);
    });
  }

  for (const given of ["1.0000000000000000001", "1e-1000000000", `-1e-${"9".repeat(5000)}`]) {
    test(`is refused where an int is asked for and it only rounds to one: ${given.slice(0, 40)}`, async () => {
      for (const [input, name] of [[`{"n":${given}}`, "n"], [`{"many":[${given}]}`, "many"]] as const) {
        const text = `"${name}" must be a whole number, and is next to one`;
        expect((await callPythonAt(write(NUMBERS), "show", input)).result).toEqual({ is_error: true, text });
      }
      expect((await callPythonAt(write(NUMBERS), "show", `{"half":${given}}`)).result.is_error).toBe(false);
    });
  }

  test("is a plain float where no int is asked for", async () => {
    const given = "12345678901234567890.0";
    const { result } = await callPythonAt(write(NUMBERS), "show", `{"half":${given},"rest":{"a":[${given}]}}`);
    expect(result.data).toEqual(["None", "None", "1.2345678901234567e+19", "{'a': [1.2345678901234567e+19]}", "float", "dict"]);
  });

  for (const given of ["1e400", "1e1000000000", `1e${"9".repeat(5000)}`]) {
    test(`is refused at once if it is too large: ${given.slice(0, 40)}`, async () => {
      expect((await callPythonAt(write(NUMBERS), "show", `{"n":${given}}`)).result).toEqual({
        is_error: true,
        text: `The input cannot be read: ${given.length > 60 ? `${given.slice(0, 60)}...` : given} is not a number that Python can hold`,
      });
    });
  }
});

describe("what a Python tool puts in the place of the standard library's functions", () => {
  test("does not keep its answer from being read", async () => {
    const text = `
import json, os, time
from stella_sdk import tool
@tool
def patch():
    json.dumps = json.loads = lambda *a, **k: "patched"
    os.write = os._exit = os.getpid = time.sleep = None
    return {"a": 1}
`;
    expect((await callPythonAt(write(text), "patch", {})).result).toEqual({ is_error: false, text: '{"a":1}', data: { a: 1 } });
  });

  test("nor does a value that JSON cannot hold get through an agent's own calls", async () => {
    const text = `
from stella_sdk import BaseAgent, tool
@tool
def bad(): return [1, float("nan")]
class A(BaseAgent):
    tools = [bad]
@tool
async def ask(): return await agent.execute_tool("bad", {})
`;
    expect((await callPythonAt(write(text), "ask", {})).result.data).toEqual({
      error: "The tool returned what JSON cannot hold: [1] is nan",
    });
  });
});
