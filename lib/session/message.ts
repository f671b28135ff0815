/** What a model is shown. Built from the log by `transcript.ts`, turned into a wire format by `model/`. */

export type Message =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string }
  | {
    readonly role: "assistant";
    readonly text: string;
    readonly calls: readonly MessageCall[];
    /** Opaque blocks of the provider that must go back as they came (reasoning, signatures). */
    readonly provider_blocks?: readonly unknown[];
  }
  | { readonly role: "tool"; readonly id: string; readonly name: string; readonly text: string; readonly is_error: boolean };

/** `id` is unique in the transcript and pairs the call with its result. */
export interface MessageCall {
  readonly id: string;
  readonly name: string;
  /** Always the text of a JSON object, even if the model wrote something else. */
  readonly arguments: string;
}

/** A tool as a model is told of it. */
export interface ToolDeclaration {
  readonly name: string;
  readonly description: string;
  readonly input_schema: Readonly<Record<string, unknown>>;
}
