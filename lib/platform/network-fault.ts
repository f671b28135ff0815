/**
 * What a host says when a connection fails. `fetch` has no standard way to tell a server that cannot be reached from
 * a connection that broke: Bun puts it in `code`, Deno in the words of the message or of the cause.
 */
export interface NetworkFault {
  /** False if no connection was made at all: refused, no such name, no route, a certificate that is not accepted, a proxy that refuses. */
  readonly connected: boolean;
  readonly words: string;
}

export function readNetworkFault(error: unknown): NetworkFault {
  const words = wordsOf(error);
  return { connected: !NOT_CONNECTED.test(words), words };
}

const NOT_CONNECTED =
  /ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UNABLE_TO_|SELF_SIGNED|ERR_TLS|CERT_|ERR_PROXY|certificate|\(Connect\)|dns error|getaddrinfo|connection refused/i;

/** Bun tells whoever called `fetch` how to learn more; that is not whoever reads this. */
const ADVICE = / For more information, pass `verbose: true` in the second argument to fetch\(\)$/;

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const code = (error as { readonly code?: unknown }).code;
  const message = error.message.replace(ADVICE, "");
  const own = typeof code !== "string" || message.includes(code) ? message : `${code} ${message}`;
  return error.cause === undefined ? own : `${own}: ${wordsOf(error.cause)}`;
}
