// Sends a message to an agent by the JavaScript SDK of A2A: node a2a.mjs URL JSON. Prints each event.
import {
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  createAuthenticatingFetchWithRetry,
} from "@a2a-js/sdk/client";
import { SendMessageRequest, StreamResponse } from "@a2a-js/sdk";

const [, , url, message] = process.argv;
const headers = { Authorization: `Bearer ${process.env.KEY}` };
const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => headers,
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory(
  ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory({ fetchImpl })],
    cardResolver: new DefaultAgentCardResolver({ fetchImpl }),
  }),
);
const client = await factory.createFromUrl(`${url}/clerk/`, ".well-known/agent-card.json");
const request = SendMessageRequest.fromJSON({ message: JSON.parse(message) });
for await (const event of client.sendMessageStream(request)) {
  console.log(JSON.stringify(StreamResponse.toJSON(event)));
}
