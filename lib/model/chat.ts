/** Chat completions: OpenAI's older format and everything that speaks it. */
import { ChatReader } from "./chat-reader.ts";
import { toBody } from "./chat-request.ts";
import type { Model } from "./model.ts";
import { createWireModel, type EndpointSettings } from "./wire.ts";

export function createChatModel(settings: EndpointSettings): Model {
  return createWireModel(settings, {
    path: "chat/completions",
    habits: { includeUsage: true },
    toHeaders: (apiKey): Record<string, string> => apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    toBody: (request, names, habits) => toBody(settings, request, names, habits),
    concede: (habits, said) => habits.includeUsage && /stream_options|include_usage/.test(said) ? { includeUsage: false } : null,
    createReader: (endpoint, names) => new ChatReader(endpoint, names, settings.model),
  });
}
