/** Our ends of the pipes to a process: read and written beside everything else, closed once. */
import { closeSync } from "node:fs";
import type { ByteReader } from "./byte-reader.ts";
import type { BunHost } from "./host.ts";

export interface InputPipe {
  /** Resolves when the pipe has taken all of it. Rejects if nobody can read it any more. */
  write(bytes: Uint8Array): Promise<void>;
  /** End of file, after what is being written. */
  end(): void;
}

export interface OutputPipe {
  /** The next bytes; null at the end. */
  read(): Promise<Uint8Array | null>;
  /** Stops reading, whether or not somebody still holds the other end. */
  close(): Promise<void>;
}

export function readDescriptor(host: BunHost, descriptor: number): OutputPipe {
  const reader = host.file(descriptor).stream().getReader();
  const pipe = toOutputPipe(reader, () => closeSync(descriptor));
  return {
    ...pipe,
    read: async () => {
      const chunk = await pipe.read();
      dropped += chunk?.length ?? 0;
      if (dropped > COLLECTED_EVERY_BYTES) {
        dropped = 0;
        host.gc(true);
      }
      return chunk;
    },
  };
}

/**
 * Every chunk is memory of its own, and Bun 1.4.5 lets tens of megabytes of it pile up before it collects any by
 * itself. Collecting takes about a millisecond in a thread that has little else.
 */
const COLLECTED_EVERY_BYTES = 32 * 1024 * 1024;
let dropped = 0;

export function writeDescriptor(host: BunHost, descriptor: number): InputPipe {
  const sink = host.file(descriptor).writer({ highWaterMark: 1 });
  let ended = false;
  return {
    write: async (bytes) => {
      await sink.write(bytes);
      await sink.flush();
    },
    end: () => {
      if (ended) return;
      ended = true;
      // EPIPE: there is nobody to be told. The sink does not close what it did not open (Bun 1.4.5).
      void Promise.resolve(sink.end()).catch(() => {}).finally(() => closeSync(descriptor));
    },
  };
}

export function toOutputPipe(reader: ByteReader, release: () => void): OutputPipe {
  let closed = false;
  return {
    read: async () => {
      if (closed) return null;
      const { done, value } = await reader.read();
      return done ? null : value;
    },
    close: async () => {
      if (closed) return;
      closed = true;
      try {
        await reader.cancel();
      } finally {
        release();
      }
    },
  };
}
