/** Numbers and times as people read them. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${trim(ms / 1000)} s`;
  if (ms < 3600_000) return `${Math.floor(ms / 60_000)} min ${pad(Math.floor(ms / 1000) % 60)} s`;
  return `${Math.floor(ms / 3600_000)} h ${pad(Math.floor(ms / 60_000) % 60)} min`;
}

export function clock(at: number): string {
  const date = new Date(at);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(pad).join(":");
}

export function ago(at: number, now: number): string {
  const seconds = Math.max(0, (now - at) / 1000);
  if (seconds < 45) return "now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h`;
  return new Date(at).toLocaleDateString("en", { day: "numeric", month: "short" });
}

export function count(value: number): string {
  if (value < 10_000) return value.toLocaleString("en");
  return value < 1_000_000 ? `${trim(value / 1000)}k` : `${trim(value / 1_000_000)}M`;
}

export function plural(value: number, one: string): string {
  return `${value.toLocaleString("en")} ${one}${value === 1 ? "" : "s"}`;
}

/** Without the folders of a model that is a file. */
export function modelName(model: string): string {
  return model.startsWith("script:") ? `script:${model.slice(model.lastIndexOf("/") + 1).replace(/^script:/, "")}` : model;
}

function trim(value: number): string {
  return String(Number(value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2)));
}

function pad(value: number): string {
  return String(value).padStart(2, "0");
}
