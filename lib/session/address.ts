/** Addresses that a log records and shows, and what must not be in them. */

/** Names of parameters whose values open something: `api_key`, `access_token`, `X-Amz-Signature`, `sig`. */
const SECRET_NAME = /key|token|secret|passw|pwd|credential|auth|signature|(?:^|[-_])sig$/i;

/** What of an address is secret, in words; null if nothing is, or if it is no address. */
export function secretIn(address: string): string | null {
  const url = URL.canParse(address) ? new URL(address) : null;
  if (url === null) return null;
  if (url.username !== "" || url.password !== "") return "a user name or password";
  const name = [...url.searchParams.keys()].find((each) => SECRET_NAME.test(each));
  return name === undefined ? null : `a secret ("${name}" of its query)`;
}
