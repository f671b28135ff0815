/** What a server's status says to whoever named the server: what was answered, what it means and what would be right. */

const SHOWN_BODY = 200;

/** A sentence without its end. `body`: what came with it, or what was made of a redirect. */
export function describeStatus(status: number, body: string): string {
  const meaning = status >= 300 && status < 400 ? REDIRECT : MEANINGS.get(status) ?? (status >= 500 ? FAULT : null);
  const shown = cut(body.trim());
  return [`the server answered with status ${status}`, meaning === null ? "" : `, ${meaning}`, shown === "" ? "" : `. It said: ${shown}`]
    .join("");
}

const REDIRECT = "a redirect, which is not followed as it would take headers and calls elsewhere: put the final address into url";
const FAULT = "a fault of its own or of a gateway before it";

const MEANINGS: ReadonlyMap<number, string> = new Map([
  [401, 'as it wants credentials: give them in headers, such as Authorization = "Bearer ${TOKEN}", and set that variable'],
  [403, "as the credentials that it got may not use it: check headers and what they give access to"],
  [404, "as it knows nothing under this address: check url"],
  [405, "as it takes no POST under this address: check url, which must be that of streamable HTTP"],
  [429, "as it got too many requests"],
]);

function cut(text: string): string {
  return text.length > SHOWN_BODY ? `${text.slice(0, SHOWN_BODY).toWellFormed()}…` : text.toWellFormed();
}
