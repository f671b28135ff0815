/** What differs between the languages a tool file may be written in. Everything here is pure: it plans and reads. */
import type { JsonInput } from "../../session/json.ts";
import type { Launch, Run } from "../../session/launch.ts";
import type { ReadResult } from "../tool.ts";
import type { Description, ToolDescription } from "./description.ts";

export interface Language {
  readonly name: "typescript" | "python";
  /** Of its files, with the dot. */
  readonly extensions: readonly string[];
  /** What a file imports to make tools. */
  readonly sdk: string;
  /** What is looked up to run them; null: this program itself runs them. */
  readonly program: string | null;
  /** A run that finds out which tools the file has. */
  describe(file: string, place: Place, timeout_ms: number): Launch;
  readDescription(run: Run): Description;
  call(file: string, tool: ToolDescription, input: JsonInput, place: Place): Launch;
  read(tool: string, run: Run): ReadResult;
}

export interface Place {
  readonly workspace: string;
  readonly env: Readonly<Record<string, string>>;
}
