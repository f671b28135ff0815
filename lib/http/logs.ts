/**
 * What the server says of itself, without content: no prompt, no input, no output, no token, no path of a request
 * beyond its route. Silent until somebody listens: `orrery serve` does, an embedder may with its own configuration.
 */
import { configure, getJsonLinesFormatter, getLogger, type Logger, type LogRecord } from "@logtape/logtape";
import type { AgentNotice } from "../agent/options.ts";

export type LogFormat = "json" | "text";

export function logger(part: "http" | "server" | "agent"): Logger {
  return getLogger(["orrery", part]);
}

/** Sends the log, one record a line, to `write`. */
export async function sendLogs(format: LogFormat, write: (line: string) => void): Promise<void> {
  const toLine = format === "json" ? getJsonLinesFormatter({ properties: "flatten", categorySeparator: "." }) : toTextLine;
  await configure({
    reset: true,
    sinks: { out: (record: LogRecord) => write(toLine(record)) },
    loggers: [
      { category: "orrery", lowestLevel: "info", sinks: ["out"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["out"] },
    ],
  });
}

/** What the runtime has to say goes where the server's own records go. */
export function logNotice({ level, code, text }: AgentNotice): void {
  logger("agent")[level]("Notice", { code, text });
}

function toTextLine({ timestamp, level, category, message, properties }: LogRecord): string {
  const values = Object.entries(properties).map(([name, value]) => `${name}=${toPlain(value)}`);
  const words = [new Date(timestamp).toISOString(), level, `${category.join(".")}:`, message.map(String).join(""), ...values];
  return `${words.join(" ")}\n`;
}

/** One line, harmless on a terminal. */
function toPlain(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? "undefined";
  if (/^[\w./:@+-]+$/.test(text)) return text;
  return JSON.stringify(text).replace(
    /[\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
