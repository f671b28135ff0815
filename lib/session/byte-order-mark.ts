/** A text as it was meant: some editors begin a file with U+FEFF, which is none of its text. */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith("\ufeff") ? text.slice(1) : text;
}
