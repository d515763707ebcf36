// An editor by the JavaScript SDK of ACP: node acp.mjs ANSWER SESSION PROGRAM…, where ANSWER is a kind of option, or
// "kill": then the agent is killed while it asks. Without a SESSION it begins one. Prints what came of it.
import { spawn } from "node:child_process";
import { Readable, Writable } from "node:stream";
import * as acp from "@agentclientprotocol/sdk";

const [, , answer, known, program, ...args] = process.argv;
const agent = spawn(program, args, { stdio: ["pipe", "pipe", "inherit"] });
const heard = { session: known, titles: [], texts: [] };
const said = () => console.log(JSON.stringify(heard));

const editor = acp
  .client({ name: "editor" })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    heard.titles.push(params.toolCall.title);
    if (answer === "kill") {
      agent.kill("SIGKILL");
      said();
      process.exit(0);
    }
    const { optionId } = params.options.find((option) => option.kind === answer);
    return { outcome: { outcome: "selected", optionId } };
  })
  .onNotification(acp.methods.client.session.update, ({ params: { update } }) => {
    if (update.sessionUpdate === "agent_message_chunk") heard.texts.push(update.content.text);
  });

const stream = acp.ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout));
await editor.connectWith(stream, async (line) => {
  const { agent: own } = acp.methods;
  await line.request(own.initialize, { protocolVersion: acp.PROTOCOL_VERSION, clientCapabilities: {} });
  const where = { cwd: process.cwd(), mcpServers: [] };
  if (known) await line.request(own.session.load, { ...where, sessionId: known });
  else heard.session = (await line.request(own.session.new, where)).sessionId;
  const prompt = [{ type: "text", text: known ? "And now?" : "Pay Cy." }];
  heard.reason = (await line.request(own.session.prompt, { sessionId: heard.session, prompt })).stopReason;
});
said();
agent.kill();
