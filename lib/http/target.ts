/** What a request asks for, in the two forms that name something here (RFC 9112, 3.2.1 and 3.2.2). */
export interface Target {
  /** As `http://host:port`, lower case; null: a path alone. */
  readonly origin: string | null;
  /** With its query. */
  readonly path: string;
}

/** Null: it is in another form. */
export function readTarget(target: string): Target | null {
  if (target.startsWith("/")) return { origin: null, path: target };
  const [, origin, path = ""] = /^(https?:\/\/[^/?#]+)(.*)$/i.exec(target) ?? [];
  if (origin === undefined) return null;
  return { origin: origin.toLowerCase(), path: path.startsWith("/") ? path : `/${path}` };
}
