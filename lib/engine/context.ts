import { IncomingMessage } from 'node:http';

import type { Context } from 'koa';
import type { Provider } from 'oidc-provider';

import { FORM } from '../http/body.ts';

/**
 * Makes the Koa context on which the engine runs a request. It has the request, the response and the state of the host's context.
 *
 * For each request the engine defines an accessor `ctx.oidc` (helpers/initialize_app.js). V8 puts accessors into its old
 * generation, and there this one would keep all objects of the request until the next full collection: the memory of the process
 * doubles, and the collector copies each request twice. The context is therefore a proxy that stores the value instead.
 */
export function createEngineContext(engine: Provider, { req, res, state }: Context): Context {
  const context = engine.createContext(req, res) as unknown as EngineContext;
  const proxy = new Proxy(context, HANDLER);
  context.request.ctx = context.response.ctx = proxy;
  context.state = state;
  return proxy;
}

type EngineContext = Context & Record<string | symbol, unknown>;

const HANDLER: ProxyHandler<EngineContext> = {
  defineProperty(target, name, descriptor) {
    if (name !== 'oidc' || !descriptor.get) return Reflect.defineProperty(target, name, descriptor);
    return Reflect.set(target, name, descriptor.get());
  },
  // Without these two, which are not needed, each access takes longer, and each assignment defines a property of the proxy.
  get: (target, name) => target[name],
  set: (target, name, value) => Reflect.set(target, name, value),
};

/** A request with the header of the original and a form as its body, for the engine to read instead of the original. */
export function formRequest(
  original: IncomingMessage,
  form: Buffer | string,
  { isStream }: { readonly isStream: boolean },
): IncomingMessage {
  const bytes = typeof form === 'string' ? Buffer.from(form) : form;
  const { 'transfer-encoding': _transfer, 'content-encoding': _encoding, ...headers } = original.headers;
  headers['content-type'] = FORM;
  headers['content-length'] = String(bytes.length);
  return isStream
    ? streamOf(original, headers, bytes)
    : (new ReceivedForm(original, headers, bytes) as unknown as IncomingMessage);
}

/**
 * A request whose body was received. The engine reads the body by `iterator()`, and a stream of Node for one chunk, with its
 * buffers and events, would cost more than any other step of this module. Everything else is that of the original.
 */
class ReceivedForm {
  readonly method: string | undefined;
  url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: string[];
  readonly httpVersion: string;
  readonly httpVersionMajor: number;
  readonly httpVersionMinor: number;
  readonly socket: IncomingMessage['socket'];
  readonly complete = true;
  readonly readable = true;
  readonly readableEncoding = null;
  readonly #bytes: Buffer;

  constructor(original: IncomingMessage, headers: IncomingMessage['headers'], bytes: Buffer) {
    this.method = original.method;
    this.url = original.url;
    this.headers = headers;
    this.rawHeaders = original.rawHeaders;
    this.httpVersion = original.httpVersion;
    this.httpVersionMajor = original.httpVersionMajor;
    this.httpVersionMinor = original.httpVersionMinor;
    this.socket = original.socket;
    this.#bytes = bytes;
  }

  iterator(): Iterable<Buffer> {
    return [this.#bytes];
  }
}

// So that listeners of the host find the methods of a request. Nothing of a stream is set up, which is what takes the time.
Object.setPrototypeOf(ReceivedForm.prototype, IncomingMessage.prototype);

function streamOf(
  original: IncomingMessage,
  headers: IncomingMessage['headers'],
  bytes: Buffer,
): IncomingMessage {
  const { method, url, httpVersion, httpVersionMajor, httpVersionMinor } = original;
  const request = Object.assign(new IncomingMessage(original.socket), {
    method,
    url,
    httpVersion,
    httpVersionMajor,
    httpVersionMinor,
    complete: true,
  });
  request.headers = headers;
  request.push(bytes);
  request.push(null);
  return request;
}
