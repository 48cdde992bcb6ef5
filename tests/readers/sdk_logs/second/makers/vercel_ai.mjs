// Runs generateText, streamText and an agent with two tools and prints what people save of them, as one JSON object.
import { readFileSync } from "node:fs";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { Output, ToolLoopAgent, generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const run = JSON.parse(readFileSync(0, "utf8"));
const model = createOpenAICompatible({ name: "scripted", baseURL: run.base, apiKey: "none", supportsStructuredOutputs: true })("scripted-model");
const tools = Object.fromEntries(run.tools.map((one) => [one.name, tool({
  description: one.about,
  inputSchema: jsonSchema(one.schema),
  execute: async (given) => {
    const call = run.calls.find((made) => made.tool === one.name && Object.entries(made.arguments).every(([key, value]) => JSON.stringify(given[key]) === JSON.stringify(value)));
    if (call.failure) throw new Error(call.failure);
    return call.returned;
  },
})]));
const options = { model, tools, system: run.system, stopWhen: stepCountIs(8) };
const finished = [];
const result = await generateText({ ...options, prompt: run.question, onStepFinish: (step) => { finished.push(JSON.parse(JSON.stringify(step))); } });
const streamed = streamText({ ...options, messages: [{ role: "user", content: [{ type: "text", text: run.question }] }] });
const parts = [];
for await (const part of streamed.fullStream) parts.push(part.type === "error" ? { type: "error", error: String(part.error) } : part);
const agent = new ToolLoopAgent({ model, tools, instructions: run.system, ...(run.answers ? { output: Output.object({ schema: z.object({ answer: z.string(), sources: z.array(z.string()) }) }) } : {}) });
const found = await agent.generate({ prompt: run.question });
const about = { question: run.question, expected: "the reference of the data set" };
console.log(JSON.stringify({
  step_log: finished.map((step) => ({ ...step, request: undefined })),
  steps_record: { ...about, output: result.text, steps: result.steps.map(({ text, toolCalls, toolResults, finishReason }) => ({ text, toolCalls, toolResults, finishReason })) },
  flat_record: { ...about, text: result.text, toolCalls: result.steps.flatMap((step) => step.toolCalls), toolResults: result.steps.flatMap((step) => step.toolResults) },
  full_stream: parts,
  response_messages: { ...about, messages: (await streamed.response).messages },
  agent_object: { ...about, object: run.answers ? found.output : null, steps: found.steps.map(({ content, finishReason, usage }) => ({ content, finishReason, usage })) },
}));
