/**
 * The reader of a stream of bytes, as far as all declarations of it agree: that of a browser, which we are checked with,
 * Deno's, and Bun's, which holds for an embedder's program that is checked without those of a browser.
 */
export interface ByteReader {
  readonly closed: Promise<unknown>;
  read(): Promise<{ readonly done: false; readonly value: Uint8Array } | { readonly done: true; readonly value?: Uint8Array | undefined }>;
  cancel(): Promise<void>;
}
