// A client in a process of its own: in the server's, it would read each response at once.
import { once } from 'node:events';
import { request } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';

export type PostingClient = 'fetch' | 'node:http' | 'node:http in chunks';

/** A large body to post. */
export interface Order {
  readonly client: PostingClient;
  readonly url: string;
  readonly headers: Record<string, string>;
}

export interface Answer {
  /** `0`: there was none, for the reason in the text. */
  readonly status: number;
  readonly text: string;
}

const LARGE = Buffer.alloc(8 * 2 ** 20, 'x');

async function post({ client, headers, url }: Order): Promise<Answer> {
  if (client === 'fetch') {
    const response = await fetch(url, { method: 'POST', headers, body: LARGE });
    return { status: response.status, text: await response.text() };
  }
  const framing = client === 'node:http in chunks' ? { 'transfer-encoding': 'chunked' } : {};
  const sent = request(url, { method: 'POST', agent: false, headers: { ...headers, ...framing } });
  if (client === 'node:http') sent.end(LARGE);
  else {
    for (let at = 0; at < LARGE.length; at += 2 ** 16) sent.write(LARGE.subarray(at, at + 2 ** 16));
    sent.end();
  }
  return responseTo(sent);
}

async function responseTo(sent: ClientRequest): Promise<Answer> {
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  // The connection may be closed while the rest is being sent.
  sent.on('error', () => {});
  return { status: response.statusCode!, text: await text(response) };
}

async function answerTo(order: Order): Promise<Answer> {
  try {
    return await post(order);
  } catch (error) {
    return { status: 0, text: String((error as Error).cause ?? error) };
  }
}

process.on('message', (order: Order) => {
  void answerTo(order).then((answer) => process.send?.(answer));
});
