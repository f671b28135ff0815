/** Anthropic's Messages API. */
import { AnthropicReader } from "./anthropic-reader.ts";
import { concede, habitsFor, toBody } from "./anthropic-request.ts";
import type { Model } from "./model.ts";
import { createWireModel, type EndpointSettings } from "./wire.ts";

const VERSION = "2023-06-01";

export function createAnthropicModel(settings: EndpointSettings): Model {
  return createWireModel(settings, {
    path: "messages",
    habits: habitsFor(settings.model),
    toHeaders: (apiKey) => ({ "anthropic-version": VERSION, ...(apiKey === undefined ? {} : { "x-api-key": apiKey }) }),
    toBody: (request, names, habits) => toBody(settings, request, names, habits),
    concede,
    createReader: (endpoint, names) => new AnthropicReader(endpoint, names, settings.model),
  });
}
