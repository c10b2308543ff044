import { IncomingMessage } from 'node:http';

import { FORM } from '../http/body.ts';

/**
 * A request with the header of the original and a form as its body, for the engine to read instead of the original.
 *
 * @param how.isNamed - the form names the client that the field `Authorization` names without a secret
 * @param how.isStream - whether more than the engine itself may read the form
 */
export function formRequest(
  original: IncomingMessage,
  form: Buffer | string,
  { isNamed, isStream }: { readonly isNamed: boolean; readonly isStream: boolean },
): IncomingMessage {
  const bytes = typeof form === 'string' ? Buffer.from(form) : form;
  const { 'transfer-encoding': _transfer, 'content-encoding': _encoding, ...headers } = original.headers;
  headers['content-type'] = FORM;
  headers['content-length'] = String(bytes.length);
  if (isNamed) delete headers.authorization;
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
