import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createModel, defaultModelName, ModelConfigError, parseModelName, secretVariables } from "../../lib/model/providers.ts";
import { parseScript } from "../../lib/model/script.ts";
import { chatReply, startEndpoint, startScriptEndpoint } from "../fixtures/endpoint.ts";
import { replyOf } from "./asking.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "orrery-providers-"));
});
afterAll(() => rm(folder, { recursive: true }));

async function refusalOf(settings: Parameters<typeof createModel>[0]): Promise<string> {
  try {
    await createModel(settings);
  } catch (error) {
    if (error instanceof ModelConfigError) return error.message;
    throw error;
  }
  throw new Error("it was accepted");
}

describe("model names", () => {
  test("are provider/model, whatever slashes the model has", () => {
    expect(parseModelName("openrouter/meta-llama/llama-3:free")).toMatchObject({
      kind: "endpoint",
      provider: { name: "openrouter" },
      model: "meta-llama/llama-3:free",
    });
    expect(parseModelName("script:demo/a.json")).toEqual({ kind: "script", file: "demo/a.json" });
  });

  test("of another form are refused with the choices", () => {
    for (const name of ["gpt-5", "acme/x", "openai/", "/x", "", "script:", "OpenAI/x"]) {
      expect(() => parseModelName(name)).toThrow(ModelConfigError);
    }
    for (const name of ["local/m\n", "local/\u001b[31mm", "script:a\r.json", "local/a\u0085b"]) {
      expect(() => parseModelName(name)).toThrow("it has a control character in it");
    }
    expect(() => parseModelName("acme/x")).toThrow(
      /openai\/NAME with OPENAI_API_KEY.*anthropic\/NAME with ANTHROPIC_API_KEY.*local\/NAME with --base-url.*script:FILE/,
    );
  });
});

describe("the default model", () => {
  test("is that of the one provider whose key is set", () => {
    expect(defaultModelName({ OPENROUTER_API_KEY: "k", OPENAI_API_KEY: " " })).toBe("openrouter/openrouter/auto");
    expect(defaultModelName({ OPENAI_API_KEY: "k", ORRERY_LOCAL_API_KEY: "k" })).toMatch(/^openai\//);
  });

  test("does not exist with no key or several, and the message names the choices", () => {
    expect(() => defaultModelName({})).toThrow(/no key is set.*OPENAI_API_KEY/);
    expect(() => defaultModelName({ OPENAI_API_KEY: "a", OPENROUTER_API_KEY: "b" })).toThrow(
      /several keys are set.*openai\/.*openrouter\//,
    );
  });
});

describe("createModel()", () => {
  test("sends the provider's key to the base URL, with or without a trailing slash", async () => {
    const endpoint = await startEndpoint([chatReply({ text: "a" }), chatReply({ text: "b" })]);
    try {
      for (const baseUrl of [endpoint.url, `${endpoint.url}/`]) {
        const model = await createModel({ name: "local/org/m", baseUrl, env: { ORRERY_LOCAL_API_KEY: " key-1\n" } });
        expect(model.id).toBe("local/org/m");
        for await (const event of model.stream({ messages: [], tools: [] }, new AbortController().signal)) {
          if (event.type === "finished") break;
        }
      }
      expect(endpoint.requests.map((each) => [each.path, each.headers.authorization, each.body.model])).toEqual([
        ["/v1/chat/completions", "Bearer key-1", "org/m"],
        ["/v1/chat/completions", "Bearer key-1", "org/m"],
      ]);
    } finally {
      await endpoint.close();
    }
  });

  test("speaks each provider's own format, with its key where that format wants it", async () => {
    const endpoint = await startScriptEndpoint(parseScript('{"replies":[{"text":"hi"}]}'));
    const env = { OPENAI_API_KEY: "k-openai", ANTHROPIC_API_KEY: "k-anthropic", OPENROUTER_API_KEY: "k-router" };
    try {
      for (const name of ["openai/a", "anthropic/b", "openrouter/c/d", "local/e"]) {
        expect(await replyOf(await createModel({ name, baseUrl: endpoint.url, env }))).toMatchObject({ text: "hi", finish: "stop" });
      }
      expect(endpoint.requests.map(({ path, headers, body }) => [path, headers.authorization, headers["x-api-key"], body.model])).toEqual([
        ["/v1/responses", "Bearer k-openai", undefined, "a"],
        ["/v1/messages", undefined, "k-anthropic", "b"],
        ["/v1/chat/completions", "Bearer k-router", undefined, "c/d"],
        ["/v1/chat/completions", undefined, undefined, "e"],
      ]);
    } finally {
      await endpoint.close();
    }
  });

  test("refuses what cannot work and says what would be right", async () => {
    expect(await refusalOf({ name: "openai/gpt-5.2", env: {} })).toContain("OPENAI_API_KEY is not set");
    expect(await refusalOf({ name: "openai/gpt-5.2", env: { OPENAI_API_KEY: "a\u0000b" } })).toContain(
      "characters that no header may have",
    );
    expect(await refusalOf({ name: "local/m", env: {} })).toContain("needs --base-url");
    expect(await refusalOf({ name: "local/m", baseUrl: "localhost:8080", env: {} })).toContain("not an http or https URL");
    expect(await refusalOf({ name: "local/m", baseUrl: "http://me:secret@localhost/v1", env: {} })).not.toContain("secret");
    expect(await refusalOf({ name: "anthropic/claude-x", env: {} })).toContain("ANTHROPIC_API_KEY is not set");
  });

  test("refuses an address that holds what opens something, and does not show it; other parameters stay", async () => {
    const at = (baseUrl: string) => createModel({ name: "local/m", baseUrl, env: {} }).then(() => "taken", (error: Error) => error.message);
    const secrets = ["?api_key=QSECRET", "?a=1&access_token=QSECRET", "?X-Amz-Signature=QSECRET", "?sig=QSECRET", "?apiKey=QSECRET"];
    for (const address of ["http://u:QSECRET@127.0.0.1:9/v1", ...secrets.map((query) => `http://127.0.0.1:9/v1${query}`)]) {
      const said = await at(address);
      expect([address, said.startsWith("Cannot use a base URL with "), said.includes("QSECRET")]).toEqual([address, true, false]);
    }
    expect(await at("http://127.0.0.1:9/v1?api-version=2026-01-01&deployment=design")).toBe("taken");
  });

  test("plays a script file, and names the file and the place of a fault", async () => {
    const file = join(folder, "script.json");
    await writeFile(file, '{"replies":[{"text":"hi"}]}');
    expect((await createModel({ name: `script:${file}`, env: {} })).id).toBe(`script:${file}`);
    await writeFile(file, '{"replies":[{"text":7}]}');
    expect(await refusalOf({ name: `script:${file}`, env: {} })).toContain(
      `replies.0.text: must be a string or a list of strings (${file})`,
    );
    expect(await refusalOf({ name: `script:${folder}/none.json`, env: {} })).toContain("its script cannot be read");
  });
});

test("secretVariables() names every variable that can hold a key", () => {
  expect(secretVariables()).toEqual(["OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "ORRERY_LOCAL_API_KEY"]);
});
