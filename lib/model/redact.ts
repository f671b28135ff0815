/** Keys in what an endpoint says of a failure: whole, masked at one end, or broken over lines. */

/** So many characters of a key in a row are a part of it and no accident. */
const TELLING = 12;
/** Shorter secrets would take ordinary words along. */
const SHORTEST = 4;

/** The text with every key, and every telling part of one, replaced by `[key]`. */
export function redact(text: string, secrets: readonly string[]): string {
  const whole = secrets.filter((secret) => secret.length >= SHORTEST)
    .reduce((shown, secret) => shown.replaceAll(secret, "[key]"), text);
  return secrets.reduce(withoutParts, whole);
}

function withoutParts(text: string, secret: string): string {
  if (secret.length < TELLING || text.length < TELLING) return text;
  const places = [...text.matchAll(/\S/g)].map(({ index }) => index);
  const dense = text.replace(/\s/g, "");
  const ranges: { from: number; to: number }[] = [];
  for (let start = 0; start + TELLING <= secret.length; start++) {
    const part = secret.slice(start, start + TELLING);
    for (let at = dense.indexOf(part); at >= 0; at = dense.indexOf(part, at + 1)) {
      ranges.push({ from: places[at] ?? 0, to: (places[at + TELLING - 1] ?? 0) + 1 });
    }
  }
  return replaceRanges(text, ranges.sort((left, right) => left.from - right.from));
}

function replaceRanges(text: string, ranges: readonly { readonly from: number; readonly to: number }[]): string {
  let shown = "";
  let done = 0;
  for (const { from, to } of ranges) {
    if (from >= done) shown += `${text.slice(done, from)}[key]`;
    done = Math.max(done, to);
  }
  return shown + text.slice(done);
}
