/** Which of several forms an `Accept` header asks for (RFC 9110, 12.5.1). */
import { parseAccept } from "hono/utils/accept";

/** The first of `offered` counts where nothing is said, and where nothing of what is offered would do. */
export function chooseType(header: string | undefined, offered: readonly string[]): string {
  const ranges = parseAccept(header ?? "").map(({ type, q }) => ({ range: type.toLowerCase(), q }));
  // Of all ranges that a type is in the one that says most about it counts.
  const worth = (type: string) =>
    [type, type.replace(/\/.*/, "/*"), "*/*"].flatMap((range) => ranges.find((each) => each.range === range) ?? [])[0];
  const wanted = offered.flatMap((type) => {
    const found = worth(type);
    return found === undefined || found.q <= 0 ? [] : [{ type, q: found.q, at: ranges.indexOf(found) }];
  });
  const [best] = wanted.toSorted((left, right) => right.q - left.q || left.at - right.at);
  return best?.type ?? offered[0] ?? "";
}
