/** Making a connection: the old handshake first, as nearly every server knows it, and the new one where that is refused. */
import { type Connection, type ConnectOptions, OpenConnection, type RawListing, type Sdk } from "./connection.ts";
import type { Destination } from "./destination.ts";

export interface Connected {
  readonly connection: Connection;
  readonly listing: RawListing;
}

/** Shakes hands and reads the list of tools. @throws {ConnectFailure} */
export async function connect(destination: Destination, options: ConnectOptions, signal: AbortSignal): Promise<Connected> {
  const sdk = await import("@modelcontextprotocol/client");
  const connection = await shakeHands(sdk, destination, options, signal);
  try {
    return { connection, listing: await connection.listTools(signal) };
  } catch (error) {
    throw await connection.bury(error, signal);
  }
}

async function shakeHands(sdk: Sdk, destination: Destination, options: ConnectOptions, signal: AbortSignal): Promise<OpenConnection> {
  const first = new OpenConnection(sdk, destination, options, "2025");
  let refusal: unknown;
  try {
    await first.shakeHands(signal);
    return first;
  } catch (error) {
    if (!(error instanceof sdk.ProtocolError) || signal.aborted) throw await first.bury(error, signal);
    refusal = error;
  }
  // It answered, and what it said is no to the old handshake: it may know only the new one.
  await first.close();
  const second = new OpenConnection(sdk, destination, options, "2026");
  try {
    await second.shakeHands(AbortSignal.any([signal, AbortSignal.timeout(options.guess_ms)]));
    return second;
  } catch {
    // What it said first is what it meant: the new handshake was only our guess, and silence says nothing more.
    throw await second.bury(refusal);
  }
}
