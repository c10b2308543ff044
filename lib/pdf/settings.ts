import { validateHeaderName, validateHeaderValue } from 'node:http';

import type { Duration } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { boolean, fn, integer, abortSignal, wait } from '../options/values.ts';
import type { PdfCallOptions, PdfClientOptions, PdfHooks, PdfProgress, PdfRenderOptions } from './options.ts';

/** The options of a client, checked and complete. */
export interface Settings {
  /** Without a slash at its end. */
  readonly baseUrl: string;
  /** Whether an address was given, by the option or the environment. */
  readonly configured: boolean;
  /** Empty when none is used. */
  readonly apiKey: string;
  /** In milliseconds, as are the two delays. */
  readonly timeout: number;
  readonly retries: number;
  readonly retryDelay: number;
  readonly maxRetryDelay: number;
  readonly maxResponseBytes: number;
  readonly localFiles: boolean;
  /** Without `Authorization`. */
  readonly headers: Readonly<Record<string, string>>;
  readonly agent: PdfClientOptions['agent'];
  readonly hooks: PdfHooks;
}

const LOCAL_SERVICE = 'http://127.0.0.1:7330';

const timeout = wait(1);
const retries = integer(0, { most: 100 });
const bytes = integer(1);

const CLIENT = {
  baseUrl: optional(unchecked<string | URL>),
  apiKey: optional(checkApiKey, ''),
  timeout: optional(timeout, '60 seconds'),
  retries: optional(retries, 2),
  retryDelay: optional(wait(0), '1 second'),
  maxRetryDelay: optional(wait(0), '30 seconds'),
  maxResponseBytes: optional(bytes, 128 * 2 ** 20),
  // Another value than `false`, such as 'false', would let a request name any file.
  localFiles: optional(boolean, true),
  headers: optional(checkHeaders, {}),
  agent: optional(checkAgents),
  hooks: optional(checkHooks, {}),
} satisfies Record<keyof PdfClientOptions, unknown>;

/** Checks the options of a client. @throws ConfigError with the option and the remedy */
export function readSettings(options: PdfClientOptions): Settings {
  const settings = readOptions(CLIENT, options);
  const given = settings.baseUrl ?? (process.env['PDF_BASE_URL'] || undefined);
  const source = settings.baseUrl === undefined ? 'PDF_BASE_URL' : 'baseUrl';
  return {
    ...settings,
    baseUrl: checkBaseUrl(source, given ?? LOCAL_SERVICE),
    configured: given !== undefined,
  };
}

const CALL = {
  timeout: optional(timeout),
  retries: optional(retries),
  maxResponseBytes: optional(bytes),
  headers: optional(checkHeaders),
  signal: optional(abortSignal),
  onUploadProgress: optional(fn<(progress: PdfProgress) => void>()),
  onDownloadProgress: optional(fn<(progress: PdfProgress) => void>()),
} satisfies Record<keyof PdfCallOptions, unknown>;

// The service checks them.
const RENDER = {
  ...CALL,
  page: optional(unchecked<number>),
  format: optional(unchecked<'png' | 'jpg'>),
  quality: optional(unchecked<number>),
  width: optional(unchecked<number>),
} satisfies Record<keyof PdfRenderOptions, unknown>;

/** Checks the names of the options of a call. */
export function checkCallOptions(options: PdfCallOptions, call: 'extract' | 'render'): void {
  checkKnownOptions<PdfCallOptions>(options, call === 'extract' ? CALL : RENDER);
}

/** The settings of one call. */
export function callSettings(settings: Settings, options: PdfRenderOptions): Settings {
  const own = readOptions(RENDER, options);
  return {
    ...settings,
    timeout: own.timeout ?? settings.timeout,
    retries: own.retries ?? settings.retries,
    maxResponseBytes: own.maxResponseBytes ?? settings.maxResponseBytes,
    headers: { ...settings.headers, ...own.headers },
  };
}

/** In milliseconds. */
export function checkTimeout(given: Duration): number {
  return timeout('timeout', given);
}

export function checkRetries(given: number): number {
  return retries('retries', given);
}

type Agents = NonNullable<PdfClientOptions['agent']>;

function checkAgents(_place: string, agent: Agents): Agents {
  if (isAgent(agent)) {
    throw new ConfigError('agent', 'pass it by its protocol: { https: agent }, { http: agent } or both');
  }
  const { http, https } = checkKnownOptions(agent, { http: true, https: true }, 'agent');
  for (const [name, given] of Object.entries<unknown>({ http, https })) {
    if (given === undefined || isAgent(given)) continue;
    throw new ConfigError(`agent.${name}`, `pass an Agent of node:${name}, or leave it out`);
  }
  return agent;
}

/** By its method, because an agent for a proxy need not extend the class of Node. */
function isAgent(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'addRequest' in value;
}

function checkHooks(_place: string, hooks: PdfHooks): PdfHooks {
  checkKnownOptions(hooks, { onRequest: true, onResponse: true, onRetry: true }, 'hooks');
  for (const name of ['onRequest', 'onResponse', 'onRetry'] as const) {
    if (hooks[name] !== undefined) fn<unknown>()(`hooks.${name}`, hooks[name]);
  }
  return hooks;
}

function checkBaseUrl(option: string, given: unknown): string {
  const url = typeof given === 'string' || given instanceof URL ? URL.parse(String(given)) : null;
  if (!url || !/^https?:$/.test(url.protocol)) {
    throw new ConfigError(option, 'give an http or https URL, such as https://pdf.example');
  }
  if (url.username || url.password) {
    throw new ConfigError(option, 'leave the credentials out; the service takes an API key, see apiKey');
  }
  if (/[?#]/.test(url.href)) throw new ConfigError(option, 'leave out query and fragment');
  return url.href.replace(/\/+$/, '');
}

function checkApiKey(_place: string, key: string): string {
  // The message does not repeat the value, which is probably a credential with a mistake.
  if (typeof key === 'string' && /^[\x21-\x7e]*$/.test(key)) return key;
  throw new ConfigError(
    'apiKey',
    'give a string of visible ASCII characters; one that was read from a file may end with a line break',
  );
}

const RESERVED = /^(authorization|connection|content-length|content-type|host|transfer-encoding)$/i;

function checkHeaders(
  _place: string,
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  // A `Headers` object has no members of its own.
  if (typeof headers !== 'object' || headers === null || Symbol.iterator in headers) {
    throw new ConfigError('headers', "pass an object with the header fields, such as { 'X-Trace': 'a' }");
  }
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const option = `headers.${name}`;
    if (RESERVED.test(name)) {
      throw new ConfigError(option, 'leave it out: the client sets it itself; for authorization, see apiKey');
    }
    try {
      validateHeaderName(name);
      validateHeaderValue(name, value);
    } catch {
      // Without Node's error as the cause: it contains the value, which may be a credential.
      throw new ConfigError(option, 'give a header field that HTTP allows (RFC 9110 section 5)');
    }
    checked[name.toLowerCase()] = value;
  }
  return checked;
}
