/** What a hook gets on standard input: one JSON document, with the numbers of the call's input as the model wrote them. */
import type { JsonInput } from "../session/json.ts";
import type { Hook } from "./hook.ts";

/** The call that a hook is asked or told about. `name`: the one that rules are written for. */
export interface HookedCall {
  readonly name: string;
  readonly input: JsonInput;
  readonly read_only: boolean;
}

interface PayloadFields {
  readonly call?: HookedCall;
  readonly result?: { readonly text: string; readonly is_error: boolean };
  readonly final_text?: string;
}

/** What is absent is left out. */
export function hookPayload(event: Hook["event"], cwd: string, { call, result, final_text }: PayloadFields): string {
  const members = [
    ["event", JSON.stringify(event)],
    ["cwd", JSON.stringify(cwd)],
    ["tool", call && `{"name":${JSON.stringify(call.name)},"input":${call.input.text},"read_only":${call.read_only}}`],
    ["toolResult", result && JSON.stringify(result.text)],
    ["toolIsError", result && String(result.is_error)],
    ["finalText", final_text === undefined ? undefined : JSON.stringify(final_text)],
  ].filter(([, text]) => text !== undefined);
  return `{${members.map(([key, text]) => `"${key}":${text}`).join(",")}}`;
}
