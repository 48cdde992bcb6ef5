// Runs generateText and streamText with one tool and prints what people save of them, as one JSON object.
import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { convertToModelMessages, generateText, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const run = JSON.parse(readFileSync(0, "utf8"));
const model = createOpenAICompatible({ name: "scripted", baseURL: run.base, apiKey: "none" })("scripted-model");
const web_search = tool({
  description: "Search the web.",
  inputSchema: z.object({ query: z.string() }),
  execute: async ({ query }) => {
    if (query === run.failing) throw new Error("search backend timed out");
    return run.found[query];
  },
});
const options = { model, tools: { web_search }, stopWhen: stepCountIs(5) };
const result = await generateText({ ...options, prompt: run.question });
const asked = { id: "msg-user", role: "user", parts: [{ type: "text", text: run.question }] };
const streamed = streamText({ ...options, messages: await convertToModelMessages([asked]) });
let ui = null;
const response = streamed.toUIMessageStreamResponse({
  originalMessages: [asked],
  generateMessageId: () => "msg-assistant",
  onFinish: ({ messages }) => { ui = messages; },
});
await response.text();
console.log(JSON.stringify({
  model_messages: [{ role: "user", content: run.question }, ...result.response.messages],
  model_messages_record: { messages: [{ role: "user", content: run.question }, ...result.response.messages] },
  steps: { prompt: run.question, text: result.text, steps: result.steps },
  ui_messages: ui,
  ui_chat: { id: "chat-1", messages: ui },
}));
