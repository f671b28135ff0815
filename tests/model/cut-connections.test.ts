/** Servers that close a connection before the end that HTTP wants there, right behind the last byte of a whole reply. */
import { afterEach, expect, test } from "bun:test";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { createAnthropicModel } from "../../lib/model/anthropic.ts";
import { createChatModel } from "../../lib/model/chat.ts";
import { ModelError } from "../../lib/model/model.ts";
import { createResponsesModel } from "../../lib/model/responses.ts";
import { bun } from "../../lib/platform/host.ts";
import { chunkOf, headOf, type RawServer, startRawServer } from "../fixtures/raw-server.ts";
import { delta, DONE, sse, typedSse } from "../fixtures/sse.ts";
import { endWhenTaken } from "../fixtures/taken.ts";
import { errorOf, replyOf } from "./asking.ts";

const models = { chat: createChatModel, responses: createResponsesModel, anthropic: createAnthropicModel };
type Wire = keyof typeof models;

const BLOCK = { type: "text", text: "" };
const streams: Readonly<Record<Wire, string>> = {
  chat: sse(delta({ content: "whole" }), delta({}, "stop"), DONE),
  responses: typedSse(
    { type: "response.output_text.delta", item_id: "i", output_index: 0, content_index: 0, delta: "whole" },
    { type: "response.completed", response: { status: "completed", error: null, incomplete_details: null } },
  ),
  anthropic: typedSse(
    { type: "message_start", message: { model: "m", usage: { input_tokens: 1, output_tokens: 1 } } },
    { type: "content_block_start", index: 0, content_block: BLOCK },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "whole" } },
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" } },
    { type: "message_stop" },
  ),
};

/** The same reply as one document. */
const documents: Readonly<Record<Wire, object>> = {
  chat: { choices: [{ index: 0, message: { role: "assistant", content: "whole" }, finish_reason: "stop" }] },
  responses: {
    object: "response",
    status: "completed",
    error: null,
    output: [{ type: "message", id: "m", content: [{ type: "output_text", text: "whole" }] }],
  },
  anthropic: { type: "message", model: "m", content: [{ ...BLOCK, text: "whole" }], stop_reason: "end_turn", usage: {} },
};

/** What is sent for a stream, always short of the end of the body. */
const framings: Readonly<Record<string, (text: string) => readonly [head: string, body: Uint8Array]>> = {
  "chunked coding without its last chunk": (text) => [headOf("Transfer-Encoding: chunked"), chunkOf(Buffer.from(text))],
  "a length that is too large": (text) => [headOf("Content-Length: 99999"), Buffer.from(text)],
  "compressed chunks without the last": (text) => [headOf("Transfer-Encoding: chunked", "Content-Encoding: gzip"), chunkOf(gzipSync(text))],
};

const open: RawServer[] = [];
afterEach(async () => {
  for (const server of open.splice(0)) await server.close();
});

async function modelFor(wire: Wire, answer: (socket: Socket) => void) {
  const server = await startRawServer(answer);
  open.push(server);
  return { server, model: models[wire]({ id: "local/m", model: "m", baseUrl: `${server.url}/v1` }) };
}

/** Bun's `fetch` drops what came together with the close; Deno's what it has not decompressed. */
function dropsNothing(framing: string): boolean {
  return bun === null && !framing.startsWith("compressed");
}

for (const wire of Object.keys(models) as Wire[]) {
  for (const [name, frame] of Object.entries(framings)) {
    const [head, body] = frame(streams[wire]);

    test(`${wire}: ${name}, closed with the last byte, is lost once at the most`, async () => {
      const { server, model } = await modelFor(wire, (socket) => void socket.end(Buffer.concat([Buffer.from(head), body])));
      let lost = 0;
      for (let times = 0; times < 6; times++) {
        const text = await replyOf(model).then((reply) => reply.text, (error) => error instanceof ModelError ? error.kind : String(error));
        if (text !== "whole") lost++;
        expect(["whole", "transport"]).toContain(text);
      }
      expect(lost).toBeLessThanOrEqual(dropsNothing(name) ? 0 : 1);
      expect(server.requests).toBe(6);
    });

    test(`${wire}: ${name}, closed a moment later, is read at once, or on the next attempt if it is compressed`, async () => {
      const { server, model } = await modelFor(wire, (socket) => {
        socket.write(Buffer.concat([Buffer.from(head), body]), () => endWhenTaken(socket));
      });
      if (bun === null && !dropsNothing(name)) expect((await errorOf(replyOf(model))).kind).toBe("transport");
      const before = server.requests;
      expect((await replyOf(model)).text).toBe("whole");
      expect(server.requests - before).toBe(1);
    });
  }

  test(`${wire}: a reply that is not whole is none, however it is read`, async () => {
    const half = streams[wire].slice(0, streams[wire].length / 2);
    const [head, body] = [headOf("Transfer-Encoding: chunked"), chunkOf(Buffer.from(half))];
    const { model } = await modelFor(wire, (socket) => void socket.end(Buffer.concat([Buffer.from(head), body])));
    for (let times = 0; times < 3; times++) expect((await errorOf(replyOf(model))).kind).toBe("transport");
  });

  test(`${wire}: one whole document short of its length is read, and half of one is none`, async () => {
    const whole = JSON.stringify(documents[wire]);
    const send = (text: string) => (socket: Socket) => {
      socket.write(`${headOf("Content-Length: 99999")}${text}`, () => endWhenTaken(socket));
    };
    const { server, model } = await modelFor(wire, send(whole));
    expect((await replyOf(model)).text).toBe("whole");
    expect(server.requests).toBe(1);
    const half = await modelFor(wire, send(whole.slice(0, -1)));
    expect((await errorOf(replyOf(half.model))).kind).toBe("transport");
  });
}
