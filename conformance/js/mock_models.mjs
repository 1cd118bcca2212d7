// A mock of the providers' APIs (@copilotkit/aimock) that answers as the tests of
// `crates/agents` ask: by what the user says last. Prints its address, ends with its input.

import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ port: 0, strict: true, logLevel: "silent" });

const tools = [
  { id: "call_tokyo", name: "weather", arguments: '{"city":"Tokyo"}' },
  { id: "call_rome", name: "weather", arguments: '{"city":"Rome","units":"celsius"}' },
];
const error = (message, type) => ({ message, type });

mock.on({ userMessage: "text" }, { content: "Hello there, “friend” 🌤." }, { chunkSize: 3 });
mock.on(
  { userMessage: "thinking" },
  {
    content: "9.8 is greater.",
    reasoning: "Compare the digits, one by one.",
    reasoningSignature: "c2lnbmVk",
    redactedThinking: ["ZW5jcnlwdGVk"],
  },
  { chunkSize: 5 },
);
// The results of both calls must have come back, each to its own.
mock.on(
  {
    userMessage: "parallel",
    predicate: (request) => {
      const results = request.messages.filter((message) => message.role === "tool");
      const called = request.messages.flatMap((message) => message.tool_calls ?? []);
      return (
        called.length === 2 &&
        results.length === 2 &&
        results.every((result, at) => result.tool_call_id === called[at].id) &&
        JSON.stringify(results[0].content).includes("dry") &&
        JSON.stringify(results[1].content).includes("wet")
      );
    },
  },
  { content: "Dry and wet." },
);
mock.on({ userMessage: "parallel", toolName: "weather" }, { toolCalls: tools }, { chunkSize: 4 });
mock.on(
  { userMessage: "limited" },
  { error: error("Slow down", "rate_limit_error"), status: 429, retryAfter: 7 },
);
mock.on({ userMessage: "failing" }, { error: error("Oh no", "api_error"), status: 500 });
mock.on({ userMessage: "overloaded" }, { error: error("Overloaded", "overloaded_error"), status: 529 });
mock.on({ userMessage: "unauthorized" }, { error: error("Who?", "authentication_error"), status: 401 });
mock.on(
  { userMessage: "cut" },
  { content: "This is never said to its end, however long one waits for it." },
  { chunkSize: 4, truncateAfterChunks: 6 },
);

await mock.start();
console.log(mock.url);
process.stdin.resume();
process.stdin.on("end", () => process.exit(0));
