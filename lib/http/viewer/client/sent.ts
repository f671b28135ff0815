/**
 * Prompts that this tab sent and does not know to have begun, as texts by key. Kept for the tab over a reload
 * (`sessionStorage`), as the server knows nothing any more of one that it dropped.
 */
const KEY = "orrery.sent";

type Prompts = Readonly<Record<string, string>>;

/** What was kept before this page was loaded, by session. */
export function keptPrompts(): Map<string, Map<string, string>> {
  return new Map(Object.entries(read()).map(([session, prompts]) => [session, new Map(Object.entries(prompts))]));
}

export function keepPrompt(session: string, key: string, text: string): void {
  const all = read();
  write({ ...all, [session]: { ...all[session], [key]: text } });
}

export function forgetPrompt(session: string, key: string): void {
  const { [session]: own = {}, ...others } = read();
  if (own[key] === undefined) return;
  const { [key]: _gone, ...left } = own;
  write(Object.keys(left).length === 0 ? others : { ...others, [session]: left });
}

function read(): Readonly<Record<string, Prompts>> {
  try {
    const kept: unknown = JSON.parse(sessionStorage.getItem(KEY) ?? "{}");
    return typeof kept === "object" && kept !== null ? kept as Readonly<Record<string, Prompts>> : {};
  } catch {
    // Something else that was served at this address before left it there.
    return {};
  }
}

function write(all: Readonly<Record<string, Prompts>>): void {
  try {
    sessionStorage.setItem(KEY, JSON.stringify(all));
  } catch {
    // A browser keeps some MiB for a page: what is beyond that is forgotten with the page.
  }
}
