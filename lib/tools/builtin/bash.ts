import { existsSync } from "node:fs";
import { RESULT_CAP_BYTES } from "../ending.ts";
import { type BuiltinDefinition, numberOf, textOf } from "./definition.ts";

const DEFAULT_SECONDS = 120;
const MAX_SECONDS = 600;

export const bash: BuiltinDefinition = {
  kind: "process",
  description:
    "Run one shell command in the workspace and return what it prints. No terminal and no input: commands that ask questions fail. Everything it starts ends with it.",
  input_schema: {
    type: "object",
    properties: {
      command: { type: "string", minLength: 1, description: "The command line." },
      timeout_secs: {
        type: "integer",
        minimum: 0,
        maximum: MAX_SECONDS,
        description: `Seconds until it is ended; ${DEFAULT_SECONDS} if 0 or not given.`,
      },
    },
    required: ["command"],
    additionalProperties: false,
  },
  plan: (input, context) => ({
    kind: "process",
    argv: [shell(), "-c", textOf(input.value, "command")],
    cwd: context.workspace,
    env: withoutProfiles(context.env),
    stdin: null,
    timeout_ms: 1000 * (numberOf(input.value, "timeout_secs", 0) || DEFAULT_SECONDS),
    cap_bytes: RESULT_CAP_BYTES,
  }),
};

function shell(): string {
  return existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
}

/** A file named by these would run, and could print, before the command. */
function withoutProfiles(env: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const { BASH_ENV: _bashEnv, ENV: _env, BUN_OPTIONS: _bunOptions, BUN_BE_BUN: _beBun, ...rest } = env;
  return rest;
}
