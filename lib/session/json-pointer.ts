/** JSON pointers, RFC 6901: how a name is written as one token of a pointer, and back. */

export function toPointerToken(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

export function fromPointerToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}
