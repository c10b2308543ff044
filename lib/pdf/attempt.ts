import got, { TimeoutError, UploadError } from 'got';
import type { Request } from 'got';

import { secondsSince } from '../contracts/clock.ts';
import { PdfError } from './error.ts';
import type { CallSettings, PdfCallOptions } from './options.ts';
import type { Payload } from './payload.ts';

/** One call of the client, with all its tries. */
export interface ServiceCall extends Pick<
  PdfCallOptions,
  'signal' | 'onUploadProgress' | 'onDownloadProgress'
> {
  readonly settings: CallSettings;
  readonly url: URL;
  readonly payload: Payload;
  /** Whether the caller reads the answer while it arrives; reading it may then take longer than `timeout`. */
  readonly streamed: boolean;
}

/** The beginning of an answer. */
export interface ServiceResponse {
  readonly call: ServiceCall;
  readonly attempt: number;
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The uncompressed body; leaving the loop early ends the connection. Throws a `PdfError` when it ends too early. */
  readonly body: AsyncIterable<Uint8Array>;
  /** Ends the connection. */
  close(): void;
}

/** Sends the request once. Resolves when the service begins to answer, whatever its status. */
export async function send(call: ServiceCall, attempt: number): Promise<ServiceResponse> {
  const { settings, url } = call;
  settings.hooks.onRequest?.({ method: 'POST', url: url.href, attempt });
  const begun = performance.now();
  const request = got.stream.post(url, requestOptions(call, attempt));
  // The error is reported by the listener below, or by the loop that reads the body. Without this listener, a later error would
  // end the process.
  request.on('error', () => {});

  const { promise, resolve, reject } = Promise.withResolvers<ServiceResponse>();
  request.once('error', (error) => {
    request.destroy();
    reject(explain(error, call));
  });
  request.once('response', ({ statusCode: status, headers }) => {
    try {
      settings.hooks.onResponse?.({ status, seconds: secondsSince(begun), attempt });
    } catch (error) {
      request.destroy();
      reject(error);
      return;
    }
    resolve({
      call,
      attempt,
      status,
      headers: joinValues(headers),
      body: { [Symbol.asyncIterator]: () => read(request, call) },
      close: () => void request.destroy(),
    });
  });
  return promise;
}

function requestOptions(call: ServiceCall, attempt: number) {
  const { settings, payload, signal } = call;
  const { apiKey, headers, timeout } = settings;
  return {
    headers: {
      accept: 'application/json, image/png, image/jpeg',
      ...headers,
      ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
      'content-type': payload.contentType,
      ...(payload.size === undefined ? {} : { 'content-length': String(payload.size) }),
    },
    body: { [Symbol.asyncIterator]: () => upload(call, attempt) },
    // `request`, the timeout for the whole, is not set, so that a large file can take long; `socket` ends an idle connection.
    timeout: {
      lookup: timeout,
      connect: timeout,
      secureConnect: timeout,
      socket: timeout,
      response: timeout,
      ...(call.streamed ? {} : { read: timeout }),
    },
    retry: { limit: 0 },
    throwHttpErrors: false,
    // Following a redirect would send the document to another host.
    followRedirect: false,
    ...(settings.agent && { agent: settings.agent }),
    ...(signal && { signal }),
  };
}

async function* upload(
  { payload, onUploadProgress }: ServiceCall,
  attempt: number,
): AsyncGenerator<Uint8Array> {
  let transferred = 0;
  for await (const chunk of payload.read()) {
    yield chunk;
    transferred += chunk.byteLength;
    onUploadProgress?.({ transferred, total: payload.size, attempt });
  }
}

async function* read(request: Request, call: ServiceCall): AsyncGenerator<Uint8Array> {
  try {
    yield* request as AsyncIterable<Uint8Array>;
  } catch (error) {
    throw explain(error, call);
  } finally {
    request.destroy();
  }
}

const TIMEOUT_REASONS: Readonly<Record<string, string>> = {
  lookup: 'the name of the PDF service was not found',
  connect: 'the PDF service did not accept the connection',
  secureConnect: 'the PDF service did not finish the TLS handshake',
  socket: 'the PDF service neither received nor sent data',
  response: 'the PDF service did not start its response',
  read: 'the PDF service did not finish its response',
};

/** Turns an error of got into a `PdfError`. Errors of got are not passed on, not even as a cause: they contain the API key. */
function explain(error: unknown, { settings, signal, url }: ServiceCall): unknown {
  if (signal?.aborted) return signal.reason;
  // The upload threw the cause: a `PdfError` of the source, or an error of the caller's progress callback.
  if (error instanceof UploadError) return error.cause;
  if (error instanceof TimeoutError) {
    const what = TIMEOUT_REASONS[error.event] ?? TIMEOUT_REASONS['response'];
    return new PdfError(
      'ERR_PDF_TIMEOUT',
      `For ${settings.timeout} ms ${what} (${url.origin}). Raise timeout, or check the service.`,
    );
  }
  // The error is not always one of got: a write to a closed connection throws an error of Node.
  const { code, message } = error as NodeJS.ErrnoException;
  return new PdfError(
    'ERR_PDF_CONNECTION',
    `The connection to the PDF service at ${url.origin} failed: ${message}. Check that the service is running there.`,
    { cause: Object.assign(new Error(message), { code }) },
  );
}

function joinValues(
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value = []]) => [[name, [value].flat().join(', ')]]),
  );
}

/** The error for an answer that is not of the requested kind; `what` completes the message. */
export function responseError(
  answer: ServiceResponse,
  what: string,
  body: Uint8Array = new Uint8Array(),
): PdfError {
  const { origin } = answer.call.url;
  const type = answer.headers['content-type'] ?? 'of no type';
  return new PdfError('ERR_PDF_RESPONSE', `The response of the PDF service at ${origin} (${type}) ${what}.`, {
    response: answerOf(answer, body),
  });
}

/** An answer for a `PdfError`: the beginning of its body, with the API key blanked out. */
export function answerOf(
  { call, headers, status }: ServiceResponse,
  body: Uint8Array,
): PdfError['response'] & object {
  const { apiKey } = call.settings;
  const blank = (text: string): string => (apiKey === '' ? text : text.replaceAll(apiKey, '[API key]'));
  return {
    status,
    headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, blank(value)])),
    // The key is blanked out before the body is cut, because a part of the key would not be found.
    body: blank(new TextDecoder().decode(body)).slice(0, 16 * 1024),
  };
}
