// Runs an agent by the JavaScript client of AG-UI: node agui.mjs URL JSON. Prints what came of it.
import { HttpAgent } from "@ag-ui/client";

const [, , url, input] = process.argv;
const { runId, messages, resume } = JSON.parse(input);
const headers = { Authorization: `Bearer ${process.env.KEY}` };
const agent = new HttpAgent({ url: `${url}/clerk`, threadId: "chat", headers });
agent.messages = messages;
const kinds = [];
await agent.runAgent({ runId, resume }, { onEvent: ({ event }) => void kinds.push(event.type) });
console.log(JSON.stringify({ kinds, messages: agent.messages, interrupts: agent.pendingInterrupts ?? [] }));
