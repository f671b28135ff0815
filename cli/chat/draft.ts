/** The file of a tool that is being written in the conversation. */
import { existsSync, readFileSync } from "node:fs";

export class Draft {
  readonly tool: string;
  readonly file: string;
  #text: string;

  constructor(tool: string, file: string) {
    this.tool = tool;
    this.file = file;
    this.#text = this.#read();
  }

  /** Whether it is another than when it was last looked at. */
  hasChanged(): boolean {
    const before = this.#text;
    this.#text = this.#read();
    return this.#text !== before;
  }

  #read(): string {
    return existsSync(this.file) ? readFileSync(this.file, "utf8") : "";
  }
}
