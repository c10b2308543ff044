import { validateHeaderName, validateHeaderValue } from 'node:http';
import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';

import type { Seconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { isObject, optional, placeOf, readOptions, unchecked } from '../options/declare.ts';
import type { Check, Given, Values } from '../options/declare.ts';
import { boolean, fn, integer, abortSignal, wait } from '../options/values.ts';
import type { PdfError } from './error.ts';

/** The progress of an upload or a download. */
export interface PdfProgress {
  /** The bytes of this try so far. */
  readonly transferred: number;
  /** All bytes; `undefined` when the number is not known in advance. */
  readonly total: number | undefined;
  /** The number of the try. The first is 1; each try begins at 0 bytes. */
  readonly attempt: number;
}

const HOOKS = {
  /** A try begins. */
  onRequest:
    optional(
      fn<(event: { readonly method: 'POST'; readonly url: string; readonly attempt: number }) => void>(),
    ),
  /** The service begins to answer, `seconds` after the request was begun. */
  onResponse:
    optional(
      fn<(event: { readonly status: number; readonly seconds: Seconds; readonly attempt: number }) => void>(),
    ),
  /** The try failed, and the next one begins in `delay` seconds. */
  onRetry:
    optional(
      fn<(event: { readonly error: PdfError; readonly delay: Seconds; readonly attempt: number }) => void>(),
    ),
};

/** Callbacks for logs and metrics. They get no header fields, because these contain the API key. */
export interface PdfHooks extends Given<typeof HOOKS> {}

/** Returns the object itself, because its functions may be methods. */
const hooks: Check<PdfHooks> = (place, given) => {
  readOptions(HOOKS, given, place);
  return given;
};

/** The address without a slash at its end. */
export const baseUrl: Check<string | URL, string> = (place, given: unknown) => {
  const url = typeof given === 'string' || given instanceof URL ? URL.parse(String(given)) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(place, 'give an http or https URL, such as https://pdf.example');
  }
  if (url.username || url.password) {
    throw new ConfigError(place, 'leave the credentials out; the service takes an API key, see apiKey');
  }
  if (/[?#]/.test(url.href)) throw new ConfigError(place, 'leave out query and fragment');
  return url.href.replace(/\/+$/, '');
};

const apiKey: Check<string> = (place, given: unknown) => {
  // The message does not repeat the value, which is probably a credential with a mistake.
  if (typeof given === 'string' && /^[\x21-\x7e]*$/.test(given)) return given;
  throw new ConfigError(
    place,
    'give a string of visible ASCII characters; one that was read from a file may end with a line break',
  );
};

const RESERVED = /^(authorization|connection|content-length|content-type|host|transfer-encoding)$/i;

/** The header fields by lower-case name, without `Authorization`. */
const headers: Check<Readonly<Record<string, string>>> = (place, given) => {
  // A `Headers` object has no members of its own.
  if (!isObject(given) || Symbol.iterator in given) {
    throw new ConfigError(place, "pass an object with the header fields, such as { 'X-Trace': 'a' }");
  }
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    const field = placeOf(place, name);
    if (RESERVED.test(name)) {
      throw new ConfigError(field, 'leave it out: the client sets it itself; for authorization, see apiKey');
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      // Without Node's error as the cause: it contains the value, which may be a credential.
      throw new ConfigError(field, 'give a header field that HTTP allows (RFC 9110 section 5)');
    }
    checked[name.toLowerCase()] = value;
  }
  return checked;
};

/** Recognizes an agent by its method, because an agent for a proxy need not extend Node's class. */
function isAgent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'addRequest' in value;
}

function agentOf<A>(module: 'http' | 'https'): Check<A> {
  return (place, given) => {
    if (isAgent(given)) return given;
    throw new ConfigError(place, `pass an Agent of node:${module}, or leave it out`);
  };
}

const AGENTS = {
  http: optional(agentOf<HttpAgent>('http')),
  https: optional(agentOf<HttpsAgent>('https')),
};

const agents: Check<Given<typeof AGENTS>, { http?: HttpAgent; https?: HttpsAgent }> = (place, given) => {
  if (isAgent(given)) {
    throw new ConfigError(place, 'pass it by its protocol: { https: agent }, { http: agent } or both');
  }
  const { http, https } = readOptions(AGENTS, given, place);
  return { ...(http && { http }), ...(https && { https }) };
};

const retries = integer(0, { most: 100 });

export const CLIENT = {
  /**
   * The address of the PDF service, http or https; it may contain a path.
   * @default the environment variable `PDF_BASE_URL`, else `http://127.0.0.1:7330`, where `npm run pdf-service` listens
   */
  baseUrl: optional(baseUrl),
  /** The key that every request sends as `Authorization: Bearer`, unless it is empty. No error and no log contains it. */
  apiKey: optional(apiKey, ''),
  /**
   * The time limit of each step of a try, such as `'30 seconds'` or `'500 ms'`: the connection, the next bytes of the upload,
   * the beginning of the answer, and the rest of it. An upload may take longer as a whole, as long as it progresses. To limit
   * the whole call, pass `signal: AbortSignal.timeout()`.
   * @default '60 seconds'
   */
  timeout: optional(wait(1), '60 seconds'),
  /**
   * The number of tries after a failed first one, 0 to 100: with 2, there are three requests at most. Lost and refused
   * connections, timeouts, and the statuses 408, 425, 429 and 500 and above, except 501, are tried again.
   * @default 2
   */
  retries: optional(retries, 2),
  /**
   * The wait before the second try; it doubles with every further one. Each wait is shortened at random, by half at most, so
   * that many clients do not try again at the same moment.
   * @default '1 second'
   */
  retryDelay: optional(wait(0), '1 second'),
  /**
   * The longest wait between tries. When the service asks for a longer wait (`Retry-After`), the call fails at once.
   * @default '30 seconds'
   */
  maxRetryDelay: optional(wait(0), '30 seconds'),
  /**
   * The largest size of an uncompressed answer, in bytes.
   * @default 134_217_728
   */
  maxResponseBytes: optional(integer(1), 128 * 2 ** 20),
  /**
   * Whether an input may name a file of this machine by its path: a string that is no URL, `{ path }`, `{ filepath }` of koa-body and
   * formidable, or a file that multer has stored on the disk. With `false` all of these are refused. Set it to `false` where the input
   * may come from a request, which could name any file; then pass the bytes, a `Blob` (`fs.openAsBlob`) or a stream.
   * @default true
   */
  localFiles: optional(boolean, true),
  /** Further header fields of every request. `Authorization` and the fields about the body cannot be set here. */
  headers: optional(headers, {}),
  /** For a proxy, your own certificate authority, or a limit on connections. */
  agent: optional(agents),
  /** Called at each step of a call. An error that a hook throws ends the call. */
  hooks: optional(hooks, {}),
};

/** Options of `new PdfClient()`. */
export interface PdfClientOptions extends Given<typeof CLIENT> {}

/** The options of the client that a call needs. Times are in milliseconds. */
export type CallSettings = Omit<Values<typeof CLIENT>, 'baseUrl' | 'localFiles'>;

/** The options of a client, checked and complete. */
export interface PdfSettings extends Values<typeof CLIENT> {
  readonly baseUrl: string;
  /** Whether an address was given, by the option or the environment. */
  readonly configured: boolean;
}

const LOCAL_SERVICE = 'http://127.0.0.1:7330';

/** Checks the options of a client. @throws ConfigError with the option and the remedy */
export function readSettings(options: PdfClientOptions): PdfSettings {
  const given = readOptions(CLIENT, options);
  const environment = process.env['PDF_BASE_URL'] || undefined;
  const address =
    given.baseUrl ?? (environment === undefined ? undefined : baseUrl('PDF_BASE_URL', environment));
  return { ...given, baseUrl: address ?? LOCAL_SERVICE, configured: address !== undefined };
}

export const CALL = {
  /** See {@link PdfClientOptions.timeout}. */
  timeout: optional(wait(1)),
  /** See {@link PdfClientOptions.retries}. */
  retries: optional(retries),
  /** See {@link PdfClientOptions.maxResponseBytes}. */
  maxResponseBytes: optional(integer(1)),
  /** Further header fields, which replace the client's fields of the same name. */
  headers: optional(headers, {}),
  /** Aborts the call: it then rejects with the signal's reason, as `fetch` does. */
  signal: optional(abortSignal),
  /** Called while the PDF is sent. */
  onUploadProgress: optional(fn<(progress: PdfProgress) => void>()),
  /** Called while the answer arrives. */
  onDownloadProgress: optional(fn<(progress: PdfProgress) => void>()),
};

/** Options of one call. The default of each is the option of the client. */
export interface PdfCallOptions extends Given<typeof CALL> {}

// The client checks the parameters of the image together with the input; the service checks their limits.
export const RENDER = {
  ...CALL,
  /** The number of the page; the first one is 1. */
  page: optional(unchecked<number>),
  /** The format of the image; an answer in another format is an error. */
  format: optional(unchecked<'png' | 'jpg'>),
  /** The quality of a JPEG. The service decides which numbers it accepts. */
  quality: optional(unchecked<number>),
  /** The width of the image; in pixels at the example service. */
  width: optional(unchecked<number>),
};

/** Options of `render()` and `renderStream()`. Only given options are sent; the service has the defaults. */
export interface PdfRenderOptions extends Given<typeof RENDER> {}
