import { Resolver } from 'node:dns/promises';
import type { IncomingMessage } from 'node:http';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';

import type { Milliseconds } from '../contracts/duration.ts';
import { isLoopback } from '../contracts/loopback.ts';
import { isPublicAddress } from './address.ts';

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

/** What requests to the URLs of strangers take for the internet. Tests pass one of their own, in which servers on loopback are public. */
export interface Network {
  /** The addresses of a host name. */
  readonly resolve: (hostname: string, signal: AbortSignal) => Promise<readonly string[]>;
  readonly isPublic: (address: string) => boolean;
  /** The certificates of authorities in PEM. `undefined`: those of Node. */
  readonly ca: string | undefined;
  /** Whether http URLs on loopback are fetched too, on the machine of a developer. */
  readonly loopback: boolean;
  /** For all that a request may take, instead of the time of its kind. */
  readonly timeout: Milliseconds | undefined;
}

export const INTERNET: Network = {
  resolve: resolveNames,
  isPublic: isPublicAddress,
  ca: undefined,
  loopback: false,
  timeout: undefined,
};

/** @throws PublicFetchError when requests are not sent to the URL */
export function checkUrl(text: string, { loopback }: Pick<Network, 'loopback'>): URL {
  const url = URL.parse(text);
  const { protocol, username, password, hostname = '' } = url ?? {};
  const isOnLoopback = loopback && protocol === 'http:' && isLoopback(hostname);
  if (!url || (protocol !== 'https:' && !isOnLoopback) || username !== '' || password !== '')
    throw new PublicFetchError('url');
  // A final dot would make another origin of the same host.
  if (text.includes('#') || hostname.endsWith('.')) throw new PublicFetchError('url');
  return url;
}

/** A request to a URL that a stranger chose. */
export interface PublicRequest {
  readonly headers: Readonly<Record<string, string>>;
  /** Makes it a POST. */
  readonly body?: string;
}

/**
 * Sends a request to a URL that a stranger chose, and reads the response.
 *
 * Only public addresses are connected to: the host name is resolved once, and the connection goes to an address of that answer.
 * Redirects are not followed, and nothing of the environment applies: no proxy, no `NODE_TLS_REJECT_UNAUTHORIZED`.
 *
 * @param timeout - for resolving, connecting and reading
 * @param read - reads what is needed of the response; then the connection is closed
 * @throws PublicFetchError for everything that can go wrong
 */
export async function sendPublic<T>(
  url: URL,
  request: PublicRequest,
  { network, timeout }: { readonly network: Network; readonly timeout: Milliseconds },
  read: (response: IncomingMessage) => T | Promise<T>,
): Promise<T> {
  const abort = new AbortController();
  const { promise: timedOut, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new PublicFetchError('timeout');
    reject(error);
    abort.abort(error);
  }, timeout);

  async function send(): Promise<T> {
    const { signal } = abort;
    const addresses = await findPublicAddresses(url, network, signal);
    const response = await connect(url, addresses, network.ca, { ...request, signal, timeout });
    try {
      return await read(response);
    } finally {
      response.destroy();
    }
  }

  try {
    // The race ends the wait also where an aborted step would go on.
    return await Promise.race([timedOut, send()]);
  } finally {
    clearTimeout(timer);
    abort.abort();
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

async function connect(
  url: URL,
  addresses: readonly string[],
  ca: string | undefined,
  {
    body,
    headers,
    signal,
    timeout,
  }: PublicRequest & { readonly signal: AbortSignal; readonly timeout: Milliseconds },
): Promise<IncomingMessage> {
  const resolved = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_hostname, { all }, callback) => {
    if (all) callback(null, resolved);
    else callback(null, resolved[0]!.address, resolved[0]!.family);
  };
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  // Node's default is 250 ms, in which a busy process may not see that it is connected.
  const autoSelectFamilyAttemptTimeout = Math.ceil(timeout / MOST_ADDRESSES);
  let isSecure = false;
  const { Agent, request } = url.protocol === 'http:' ? http : https;
  const outgoing = request(url, {
    // Not the global agent, which can have been told to use a proxy.
    agent: new Agent({ keepAlive: false, autoSelectFamilyAttemptTimeout }),
    signal,
    lookup,
    ...(ca === undefined ? {} : { ca }),
    // Explicit, because an environment variable can turn it off.
    rejectUnauthorized: true,
    maxHeaderSize: 16_384,
    method: body === undefined ? 'GET' : 'POST',
    headers: { 'Accept-Encoding': 'identity', 'User-Agent': 'koa-gatehouse', ...headers },
  });
  outgoing.on('socket', (socket) => socket.once('secureConnect', () => (isSecure = true)));
  outgoing.on('response', resolve);
  outgoing.on('error', (cause: NodeJS.ErrnoException) => {
    reject(
      new PublicFetchError(!isSecure && isCertificateError(cause) ? 'certificate' : 'connection', { cause }),
    );
  });
  outgoing.end(body);
  return promise;
}

/** Whether the connection failed because of the certificate, by the codes of Node and OpenSSL. */
function isCertificateError({ code = '' }: NodeJS.ErrnoException): boolean {
  return /^ERR_TLS_CERT|CERT|SELF_SIGNED|ISSUER|VERIFY/.test(code);
}
