/**
 * What the server says of itself, without content: no prompt, no input, no output, no token, no path of a request
 * beyond its route. Silent until somebody listens: `orrery serve` does, an embedder may with its own configuration.
 */
import { configure, getJsonLinesFormatter, getLogger, getTextFormatter, type Logger, type LogRecord } from "@logtape/logtape";

export function logger(part: "http" | "server"): Logger {
  return getLogger(["orrery", part]);
}

/** Sends the log, one record a line, to `write`. */
export async function sendLogs(format: "json" | "text", write: (line: string) => void): Promise<void> {
  const toText = format === "json" ? getJsonLinesFormatter({ properties: "flatten", categorySeparator: "." }) : getTextFormatter();
  await configure({
    reset: true,
    sinks: { out: (record: LogRecord) => write(toText(record)) },
    loggers: [
      { category: "orrery", lowestLevel: "info", sinks: ["out"] },
      { category: ["logtape", "meta"], lowestLevel: "warning", sinks: ["out"] },
    ],
  });
}
