/** OpenAI's Responses API, without state at the endpoint: every request holds the whole conversation. */
import type { Model } from "./model.ts";
import { ResponsesReader } from "./responses-reader.ts";
import { concede, EAGER, toBody } from "./responses-request.ts";
import { createWireModel, type EndpointSettings } from "./wire.ts";

export function createResponsesModel(settings: EndpointSettings): Model {
  return createWireModel(settings, {
    path: "responses",
    habits: EAGER,
    alternative: "A server that knows only chat completions is local/NAME",
    toHeaders: (apiKey): Record<string, string> => apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    toBody: (request, names, habits) => toBody(settings, request, names, habits),
    concede,
    createReader: (endpoint, names) => new ResponsesReader(endpoint, names, settings.model),
  });
}
