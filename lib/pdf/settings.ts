import { validateHeaderName, validateHeaderValue } from 'node:http';

import { ConfigError } from '../errors.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { checkBoolean, checkFunction, checkInteger, checkSignal, checkWait } from '../options/values.ts';
import type { PdfCallOptions, PdfClientOptions, PdfHooks, PdfRenderOptions } from './options.ts';

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

/** Checks the options of a client. @throws ConfigError with the option and the remedy */
export function readSettings(options: PdfClientOptions): Settings {
  checkKnownOptions(options, CLIENT_OPTIONS);
  const { localFiles = true } = options;
  const fromEnvironment = process.env['PDF_BASE_URL'] || undefined;
  const given = options.baseUrl ?? fromEnvironment;
  return {
    baseUrl: checkBaseUrl(options.baseUrl === undefined ? 'PDF_BASE_URL' : 'baseUrl', given ?? LOCAL_SERVICE),
    configured: given !== undefined,
    apiKey: checkApiKey(options.apiKey ?? ''),
    timeout: checkTimeout(options.timeout ?? '60 seconds'),
    retries: checkRetries(options.retries ?? 2),
    retryDelay: checkWait('retryDelay', options.retryDelay ?? '1 second', 0),
    maxRetryDelay: checkWait('maxRetryDelay', options.maxRetryDelay ?? '30 seconds', 0),
    maxResponseBytes: checkInteger('maxResponseBytes', options.maxResponseBytes ?? 128 * 1024 * 1024, 1),
    // Another value than `false`, such as 'false', would let a request name any file.
    localFiles: checkBoolean('localFiles', localFiles),
    headers: checkHeaders(options.headers),
    agent: checkAgents(options.agent),
    hooks: checkHooks(options.hooks),
  };
}

const CLIENT_OPTIONS: Readonly<Record<keyof PdfClientOptions, true>> = {
  baseUrl: true,
  apiKey: true,
  timeout: true,
  retries: true,
  retryDelay: true,
  maxRetryDelay: true,
  maxResponseBytes: true,
  localFiles: true,
  headers: true,
  agent: true,
  hooks: true,
};

const CALL_OPTIONS: Readonly<Record<keyof PdfCallOptions, true>> = {
  timeout: true,
  retries: true,
  maxResponseBytes: true,
  headers: true,
  signal: true,
  onUploadProgress: true,
  onDownloadProgress: true,
};

const RENDER_OPTIONS: Readonly<Record<keyof PdfRenderOptions, true>> = {
  page: true,
  format: true,
  quality: true,
  width: true,
  ...CALL_OPTIONS,
};

/** Checks the names of the options of a call. */
export function checkCallOptions(options: PdfCallOptions, call: 'extract' | 'render'): void {
  if (call === 'extract') checkKnownOptions(options, CALL_OPTIONS);
  else checkKnownOptions<PdfRenderOptions>(options, RENDER_OPTIONS);
}

/** The settings of one call. */
export function callSettings(settings: Settings, options: PdfCallOptions): Settings {
  checkFunction('onUploadProgress', options.onUploadProgress);
  checkFunction('onDownloadProgress', options.onDownloadProgress);
  checkSignal(options.signal);
  return {
    ...settings,
    timeout: options.timeout === undefined ? settings.timeout : checkTimeout(options.timeout),
    retries: checkRetries(options.retries ?? settings.retries),
    maxResponseBytes: checkInteger(
      'maxResponseBytes',
      options.maxResponseBytes ?? settings.maxResponseBytes,
      1,
    ),
    headers: { ...settings.headers, ...checkHeaders(options.headers) },
  };
}

/** In milliseconds. */
export function checkTimeout(timeout: unknown): number {
  return checkWait('timeout', timeout, 1);
}

export function checkRetries(retries: unknown): number {
  return checkInteger('retries', retries, 0, 100);
}

function checkAgents(agent: PdfClientOptions['agent']): PdfClientOptions['agent'] {
  if (agent === undefined) return undefined;
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

function checkHooks(hooks: PdfHooks = {}): PdfHooks {
  checkKnownOptions(hooks, { onRequest: true, onResponse: true, onRetry: true }, 'hooks');
  for (const name of ['onRequest', 'onResponse', 'onRetry'] as const) {
    checkFunction<unknown>(`hooks.${name}`, hooks[name]);
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

function checkApiKey(key: unknown): string {
  // The message does not repeat the value, which is probably a credential with a mistake.
  if (typeof key === 'string' && /^[\x21-\x7e]*$/.test(key)) return key;
  throw new ConfigError(
    'apiKey',
    'give a string of visible ASCII characters; one that was read from a file may end with a line break',
  );
}

const RESERVED = /^(authorization|connection|content-length|content-type|host|transfer-encoding)$/i;

function checkHeaders(headers: Readonly<Record<string, unknown>> = {}): Readonly<Record<string, string>> {
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
      validateHeaderValue(name, value as string);
    } catch {
      // Without Node's error as the cause: it contains the value, which may be a credential.
      throw new ConfigError(option, 'give a header field that HTTP allows (RFC 9110 section 5)');
    }
    checked[name.toLowerCase()] = String(value);
  }
  return checked;
}
