/** How endpoints say that a request was too long, each in its own words, and what only sounds like it. */
import { describe, expect, test } from "bun:test";
import { type Place, refusalError, reportedError } from "../../lib/model/fault.ts";

const PLACE: Place = { model: "local/fixture", url: "http://localhost/v1", secrets: [] };

const kindOf = (status: number, message: string, fields: object = {}) =>
  refusalError(PLACE, { status, headers: new Headers(), body: JSON.stringify({ error: { message, ...fields } }) }, 0).kind;

const TOO_LONG: readonly (readonly [string, string])[] = [
  ["OpenAI", "This model's maximum context length is 128000 tokens. However, your messages resulted in 140000 tokens."],
  ["OpenAI, Responses", "Your input exceeds the context window of this model. Please adjust your input and try again."],
  ["Anthropic", "prompt is too long: 210000 tokens > 200000 maximum"],
  ["Anthropic, with the reply", "input length and `max_tokens` exceed context limit: 190000 + 32000 > 200000"],
  ["Gemini", "The input token count (1048577) exceeds the maximum number of tokens allowed (1048576)."],
  ["Gemini, older", "The input token count exceeds the maximum number of tokens allowed 1048575."],
  ["xAI", "This model's maximum prompt length is 131072 but the request contains 537812 tokens."],
  ["Kimi", "Invalid request: Your request exceeded model token limit: 262144 (requested: 291351)"],
  ["Qwen", "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"],
  ["Copilot", "prompt token count of 141234 exceeds the limit of 128000"],
  ["Mistral", "Prompt contains 40960 tokens and 0 draft tokens, too large for model with 32768 maximum context length"],
  ["Bedrock", "Input is too long for requested model."],
  ["Bedrock, Cohere", "too many tokens: total number of tokens in the prompt cannot exceed 4081"],
  ["llama.cpp", "the request exceeds the available context size, try increasing it"],
  ["llama.cpp, with numbers", "request (9312 tokens) exceeds the available context size (8192 tokens), try increasing it"],
  ["Ollama", "prompt too long; exceeded max context length by 312 tokens"],
  ["Ollama, input", "the input length exceeds the context length"],
  ["vLLM", "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens (8000 in the messages)."],
  ["vLLM, decoder", "The decoder prompt (length 5127) is longer than the maximum model length of 4096."],
  ["SGLang", "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
  ["TGI", "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 4000 `inputs` tokens and 512"],
  ["TGI, inputs", "Input validation error: `inputs` must have less than 1024 tokens. Given: 1200"],
  [
    "LM Studio",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096",
  ],
  ["LM Studio, keep", "The number of tokens to keep from the initial prompt is greater than the context length"],
  ["Cerebras, Groq", "Please reduce the length of the messages or completion. Current length is 9193 while limit is 8192"],
  ["DeepSeek", "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens."],
  ["MiniMax", "invalid params, context window exceeds limit (2013)"],
  ["GLM", "Prompt exceeds max length"],
  ["ERNIE", "the max input characters is 516096"],
  ["Doubao", "Total tokens of image and text exceed max message tokens"],
  ["OpenRouter", "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens."],
  ["Fireworks", "The prompt is too long: 140000, model maximum context length: 131071"],
  ["a proxy", "Request exceeds the maximum size"],
];

const OTHERWISE: readonly (readonly [number, string, string])[] = [
  [
    429,
    "Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 2s.",
    "rate_limited",
  ],
  [429, "Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 40000.", "rate_limited"],
  [429, "Too many tokens, please wait before trying again.", "rate_limited"],
  [400, "Too many tokens, please wait before trying again.", "rejected"],
  [400, "Your organization exceeded its limit of 80,000 input tokens per minute", "rejected"],
  [503, "Too many tokens per minute for this model, slow down", "overloaded"],
  [400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", "rejected"],
  [400, "max_tokens exceeds the maximum of 8192", "rejected"],
  [400, "Invalid 'tools': array too long. Expected an array with maximum length 128, but got 200 instead.", "rejected"],
  [400, "Function name exceeds the maximum length of 64", "rejected"],
  [400, "temperature exceeds the maximum of 2", "rejected"],
  [400, "Invalid schema for function 'length': input is required", "rejected"],
  [400, "tool input schema exceeds the maximum depth", "rejected"],
  [500, "The request took too long", "transport"],
  [404, "The model `long-context` does not exist", "unknown_model"],
];

describe("a request that was too long", () => {
  for (const [who, message] of TOO_LONG) {
    test(`is told in the words of ${who}`, () => {
      expect([400, 422, 500].map((status) => kindOf(status, message))).toEqual(Array(3).fill("context_overflow"));
      expect(reportedError(PLACE, { message, code: 400 }).kind).toBe("context_overflow");
    });
  }

  test("is told by the status alone, and by a code alone", () => {
    expect(kindOf(413, "no")).toBe("context_overflow");
    for (const code of ["context_length_exceeded", "request_too_large", "exceed_context_size_error", "model_context_window_exceeded"]) {
      expect([code, kindOf(400, "no", { code })]).toEqual([code, "context_overflow"]);
    }
  });

  for (const [status, message, kind] of OTHERWISE) {
    test(`is not HTTP ${status} with "${message.slice(0, 60)}"`, () => {
      expect(kindOf(status, message)).toBe(kind as ReturnType<typeof kindOf>);
    });
  }
});
