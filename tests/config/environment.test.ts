import { describe, expect, test } from "bun:test";
import { isCredentialName } from "../../lib/config/credential-names.ts";
import { childEnvironment, inheritedEnvironment, isOn } from "../../lib/config/environment.ts";
import type { EnvironmentRules } from "../../lib/config/merge.ts";

function rules(user: Partial<Record<"withhold" | "allow", readonly string[]>>, organisation: typeof user = {}): EnvironmentRules {
  const toPart = (lists: typeof user): EnvironmentRules["user"] => {
    const leaves = (names: readonly string[] = []) => names.map((value) => ({ value, source: { scope: "user" as const, key: "tools" } }));
    return { withhold: leaves(lists.withhold), allow: leaves(lists.allow) };
  };
  return { user: toPart(user), organisation: toPart(organisation) };
}

const env = {
  FOO: "keep",
  GH_TOKEN: "t",
  AWS_PROFILE: "p",
  SSH_AUTH_SOCK: "s",
  ANTHROPIC_API_KEY: "canary1",
  ORRERY_TOKEN: "canary2",
  BUN_OPTIONS: "--x",
  STELLA_INPUT_A: "old",
  UNSET: undefined,
};
const names = (given: Parameters<typeof inheritedEnvironment>[2]) =>
  Object.keys(inheritedEnvironment(env, ["ANTHROPIC_API_KEY"], given).env);

describe("inheritedEnvironment()", () => {
  test("passes the user's environment on, without the runtime's own secrets", () => {
    const { env: passed, withheld } = inheritedEnvironment(env, ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"], rules({}));
    expect(passed).toEqual({ FOO: "keep", GH_TOKEN: "t", AWS_PROFILE: "p", SSH_AUTH_SOCK: "s" });
    expect(withheld).toEqual(["ANTHROPIC_API_KEY", "BUN_OPTIONS", "ORRERY_TOKEN"]);
    expect(childEnvironment(env, ["ANTHROPIC_API_KEY"])).toEqual(passed);
  });

  test("withholds by name, by pattern and by the word credentials", () => {
    expect(names(rules({ withhold: ["FOO"] }))).toEqual(["GH_TOKEN", "AWS_PROFILE", "SSH_AUTH_SOCK"]);
    expect(names(rules({ withhold: ["*_*"] }))).toEqual(["FOO"]);
    expect(names(rules({ withhold: ["credentials"] }))).toEqual(["FOO"]);
  });

  test("re-admits by whole name, a provider's key too, but never the server's token", () => {
    const { env: passed, withheld } = inheritedEnvironment(
      env,
      ["ANTHROPIC_API_KEY"],
      rules({ withhold: ["credentials"], allow: ["GH_TOKEN", "ANTHROPIC_API_KEY", "ORRERY_TOKEN", "BUN_OPTIONS"] }),
    );
    expect(Object.keys(passed)).toEqual(["FOO", "GH_TOKEN", "ANTHROPIC_API_KEY"]);
    expect(withheld).toEqual(["AWS_PROFILE", "BUN_OPTIONS", "ORRERY_TOKEN", "SSH_AUTH_SOCK"]);
  });

  test("lets only the organisation lift what the organisation withholds", () => {
    const organisation = { withhold: ["credentials"] };
    expect(names(rules({ allow: ["GH_TOKEN"] }, organisation))).toEqual(["FOO"]);
    expect(names(rules({}, { ...organisation, allow: ["GH_TOKEN"] }))).toEqual(["FOO", "GH_TOKEN"]);
  });
});

describe("isCredentialName()", () => {
  test("catches the spellings of credentials and lets ordinary names be", () => {
    const caught = [
      "OPENAI_API_KEY",
      "npm_token",
      "DB_PASSWORD",
      "TOKEN",
      "AWS_CONTAINER_CREDENTIALS_FULL_URI",
      "GITHUB_PAT",
      "GIT_CONFIG_KEY_0",
      "FORCE_COLOR",
      "GIT_DIR",
    ];
    const ordinary = [
      "PATH",
      "HOME",
      "MONKEY",
      "SORT_KEY",
      "AWS_REGION",
      "TOKENIZERS_PARALLELISM",
      "COMPAT",
      "GIT_AUTHOR_NAME",
      "COLORTERM",
    ];
    expect(caught.filter((name) => !isCredentialName(name))).toEqual([]);
    expect(ordinary.filter(isCredentialName)).toEqual([]);
  });
});

describe("isOn()", () => {
  test("takes exactly four words and nothing else for a yes", () => {
    expect(["1", "true", "yes", "on"].map(isOn)).toEqual([true, true, true, true]);
    expect([undefined, "", "0", "false", "TRUE", "On", " 1", "y", "2", "off"].filter(isOn)).toEqual([]);
  });
});
