import { Resolver } from 'node:dns/promises';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';

import { isLoopback } from '../contracts/loopback.ts';
import { parseIJson } from './json.ts';
import { createPlaces } from './places.ts';
import { isPublicAddress } from './address.ts';

/**
 * Gets a JSON document from a URL that a stranger chose.
 *
 * Only public addresses are connected to: the host name is resolved once, and the connection goes to an address of that answer.
 * Redirects are not followed, and nothing of the environment applies: no proxy, no `NODE_TLS_REJECT_UNAUTHORIZED`.
 *
 * @throws PublicFetchError for everything that can go wrong
 */
export type PublicFetch = (
  url: string,
  options: {
    /** The largest accepted size of the document. */
    readonly maxBytes: number;
  },
) => Promise<PublicDocument>;

/** A JSON document of a public URL. */
export interface PublicDocument {
  /** I-JSON (RFC 7493), see `checkJson`. */
  readonly value: unknown;
  /** How many seconds it stays fresh (RFC 9111 section 4.2). `undefined`: the response does not say. */
  readonly maxAge: number | undefined;
}

const MESSAGES = {
  url: 'the URL must be an https URL without credentials and fragment',
  no_public_address: 'the host name has no public address',
  connection: 'the connection failed',
  certificate: 'the certificate of the host is not valid',
  timeout: 'the document did not arrive in time',
  redirect: 'the response is a redirect, which is not followed',
  status: 'the status of the response is not 200',
  content_type: 'the content type is not JSON',
  content_encoding: 'the document is compressed, which is not supported',
  too_large: 'the document is too large',
  not_json: 'the document is not valid JSON',
  busy: 'too many documents are being fetched',
};

/**
 * Why a document was not got. `no_public_address` covers a name that does not exist and one of a private address alike, so that
 * strangers cannot find out which names exist in the server's own network.
 */
export type PublicFetchReason = keyof typeof MESSAGES;

/** A document of a public URL could not be got. The message can be shown to anybody; the `cause` is for logs only. */
export class PublicFetchError extends Error {
  override name = 'PublicFetchError';
  readonly reason: PublicFetchReason;
  /** The status of the response, for `status` and `redirect`. */
  readonly status: number | undefined;

  constructor(reason: PublicFetchReason, { status, cause }: { status?: number; cause?: unknown } = {}) {
    super(MESSAGES[reason], { cause });
    this.reason = reason;
    this.status = status;
  }
}

/** What a {@link PublicFetch} takes for the internet. Tests pass one of their own, in which servers on loopback are public. */
export interface Network {
  /** The addresses of a host name. */
  readonly resolve: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly isPublic: (address: string) => boolean;
  /** The certificates of authorities in PEM. `undefined`: those of Node. */
  readonly ca: string | undefined;
  /** Whether http URLs on loopback are fetched too, on the machine of a developer. */
  readonly loopback: boolean;
}

const INTERNET: Network = {
  resolve: resolveNames,
  isPublic: isPublicAddress,
  ca: undefined,
  loopback: false,
};

/** The limits of a {@link PublicFetch}. */
const LIMITS = {
  /** How long a document may take in total, in milliseconds: resolving, connecting and reading. */
  timeout: 5000,
  maxRunning: 32,
  /** The same per origin (RFC 6454). */
  maxRunningPerOrigin: 2,
};

/** @param given - but for `loopback`, for tests; no option and no environment variable replaces it */
export function createPublicFetch(given: Partial<Network> = {}, limits = LIMITS): PublicFetch {
  const network = { ...INTERNET, ...given };
  const takePlaces = createPlaces();

  return async function publicFetch(text, { maxBytes }) {
    const url = checkUrl(text, network);
    const leavePlaces = takePlaces([
      { id: 'all', limit: limits.maxRunning },
      { id: url.origin, limit: limits.maxRunningPerOrigin },
    ]);
    if (!leavePlaces) throw new PublicFetchError('busy');
    const abort = new AbortController();
    const { promise: timedOut, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(() => {
      const error = new PublicFetchError('timeout');
      reject(error);
      abort.abort(error);
    }, limits.timeout);
    try {
      // The race ends the wait also where an aborted step would go on.
      return await Promise.race([timedOut, get(url, maxBytes, network, abort.signal)]);
    } finally {
      clearTimeout(timer);
      abort.abort();
      leavePlaces();
    }
  };
}

function checkUrl(text: string, { loopback }: Pick<Network, 'loopback'>): URL {
  const url = URL.parse(text);
  const { protocol, username, password, hostname = '' } = url ?? {};
  const isOnLoopback = loopback && protocol === 'http:' && isLoopback(hostname);
  if (!url || (protocol !== 'https:' && !isOnLoopback) || username !== '' || password !== '')
    throw new PublicFetchError('url');
  // A final dot would make another origin of the same host.
  if (text.includes('#') || hostname.endsWith('.')) throw new PublicFetchError('url');
  return url;
}

async function get(
  url: URL,
  maxBytes: number,
  network: Network,
  signal: AbortSignal,
): Promise<PublicDocument> {
  const addresses = await findPublicAddresses(url, network, signal);
  const response = await send(url, addresses, network.ca, signal);
  try {
    checkHead(response);
    const bytes = await read(response, maxBytes);
    return { value: parse(bytes), maxAge: freshness(response.headers) };
  } finally {
    response.destroy();
  }
}

// Further ones are not tried.
const MOST_ADDRESSES = 4;

async function findPublicAddresses(
  { hostname, protocol }: URL,
  { isPublic, resolve }: Network,
  signal: AbortSignal,
): Promise<string[]> {
  if (protocol === 'http:') return hostname === '[::1]' ? ['::1'] : ['127.0.0.1', '::1'];
  // `URL` has turned all notations of an IPv4 address, such as `0x7f.1`, into the usual one.
  const literal = hostname.replace(/^\[(.*)\]$/, '$1');
  let found: readonly string[] = [literal];
  if (isIP(literal) === 0) {
    try {
      found = await resolve(hostname, signal);
    } catch (cause) {
      throw new PublicFetchError('no_public_address', { cause });
    }
  }
  const addresses = found.filter((address) => isPublic(address)).slice(0, MOST_ADDRESSES);
  if (addresses.length === 0) throw new PublicFetchError('no_public_address');
  return addresses;
}

/** Resolves a host name by DNS alone: other sources, such as `/etc/hosts`, contain names of the server's own network. */
async function resolveNames(hostname: string, signal: AbortSignal): Promise<string[]> {
  const resolver = new Resolver({ timeout: 2000, tries: 2 });
  signal.addEventListener('abort', () => resolver.cancel(), { once: true });
  const answers = await Promise.allSettled([resolver.resolve4(hostname), resolver.resolve6(hostname)]);
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
}

async function send(
  url: URL,
  addresses: readonly string[],
  ca: string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const resolved = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    if (all) callback(null, resolved);
    else callback(null, resolved[0]!.address, resolved[0]!.family);
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  let isSecure = false;
  const { Agent, request } = url.protocol === 'http:' ? http : https;
  const outgoing = request(url, {
    // Not the global agent, which can have been told to use a proxy.
    agent: new Agent({ keepAlive: false }),
    signal,
    lookup,
    ...(ca === undefined ? {} : { ca }),
    // Explicit, because an environment variable can turn it off.
    rejectUnauthorized: true,
    maxHeaderSize: 16_384,
    headers: { Accept: 'application/json', 'Accept-Encoding': 'identity', 'User-Agent': 'koa-gatehouse' },
  });
  outgoing.on('socket', (socket) => socket.once('secureConnect', () => (isSecure = true)));
  outgoing.on('response', resolve);
  outgoing.on('error', (cause: NodeJS.ErrnoException) => {
    reject(
      new PublicFetchError(!isSecure && isCertificateError(cause) ? 'certificate' : 'connection', { cause }),
    );
  });
  outgoing.end();
  return promise;
}

/** Whether the connection failed because of the certificate, by the codes of Node and OpenSSL. */
function isCertificateError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^ERR_TLS_CERT|CERT|SELF_SIGNED|ISSUER|VERIFY/.test(code);
}

const JSON_TYPE = /^application\/(?:[\w!#$&^.-]+\+)?json\s*(?:;|$)/i;

function checkHead({ headers, statusCode: status = 0 }: IncomingMessage): void {
  if (status >= 300 && status < 400) throw new PublicFetchError('redirect', { status });
  if (status !== 200) throw new PublicFetchError('status', { status });
  const { 'content-encoding': encoding = 'identity', 'content-type': type = '' } = headers;
  if (!JSON_TYPE.test(type)) throw new PublicFetchError('content_type');
  // Not asked for; so that no decompression is needed, whose result can be a thousand times as large.
  if (encoding.toLowerCase() !== 'identity') throw new PublicFetchError('content_encoding');
}

async function read(response: IncomingMessage, maxBytes: number): Promise<Buffer> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) throw new PublicFetchError('too_large');
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new PublicFetchError('too_large');
      chunks.push(chunk);
    }
  } catch (cause) {
    throw cause instanceof PublicFetchError ? cause : new PublicFetchError('connection', { cause });
  }
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    return parseIJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch (cause) {
    throw new PublicFetchError('not_json', { cause });
  }
}

/** The freshness lifetime of a response that has just arrived (RFC 9111 section 4.2.1), less its age. */
function freshness(headers: IncomingHttpHeaders): number | undefined {
  const control = headers['cache-control'] ?? '';
  if (/(?:^|,)\s*no-(?:store|cache)\s*(?:,|$)/i.test(control)) return 0;
  const [, seconds] = /(?:^|,)\s*max-age\s*=\s*"?(\d{1,10})/i.exec(control) ?? [];
  if (seconds !== undefined) {
    const age = /^\d{1,10}$/.test(headers.age ?? '') ? Number(headers.age) : 0;
    return Math.max(0, Number(seconds) - age);
  }
  if (headers.expires === undefined) return undefined;
  const lifetime = (Date.parse(headers.expires) - Date.parse(headers.date ?? '')) / 1000;
  return Number.isFinite(lifetime) ? Math.max(0, Math.floor(lifetime)) : 0;
}
