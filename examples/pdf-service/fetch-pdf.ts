import { lookup } from 'node:dns/promises';
import { createWriteStream } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:https';
import { isIP } from 'node:net';
import type { LookupFunction } from 'node:net';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { isPublicAddress } from './public-address.ts';
import { ServiceError, tooLarge } from './service-error.ts';
import type { Settings } from './settings.ts';

/**
 * Fetches a PDF into the folder. Resolves to its path.
 *
 * Protects against server-side request forgery: the address is looked up once, checked, and then connected to, because a
 * second lookup could return another one. Redirects are not followed.
 */
export async function fetchPdf(given: unknown, settings: Settings, folder: string): Promise<string> {
  const { fetchUrls, jobTimeout, maxBytes } = settings;
  if (fetchUrls === 'off') {
    throw new ServiceError(
      501,
      'urls_off',
      'This service does not fetch URLs (see PDF_FETCH_URLS). Send the PDF itself.',
    );
  }
  const url = typeof given === 'string' ? URL.parse(given) : null;
  if (url?.protocol !== 'https:' || url.username || url.password) {
    throw new ServiceError(400, 'url_invalid', 'The member "url" must be an https URL without credentials.');
  }
  const path = join(folder, 'fetched.pdf');
  const signal = AbortSignal.timeout(jobTimeout);
  try {
    const address = await addressOf(url, fetchUrls);
    const response = await request(url, address, signal);
    await pipeline(response, upTo(maxBytes), createWriteStream(path), { signal });
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError(422, 'url_failed', 'The URL cannot be fetched.');
  }
  return path;
}

async function addressOf({ hostname }: URL, from: 'public' | 'any'): Promise<string> {
  const host = hostname.replaceAll(/^\[|\]$/g, '');
  const address = isIP(host) === 0 ? (await lookup(host)).address : host;
  if (from === 'any' || isPublicAddress(address)) return address;
  throw new ServiceError(400, 'url_private', 'The URL has a private address.');
}

async function request(url: URL, address: string, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const known: LookupFunction = (_host, _options, found) => found(null, [{ address, family: isIP(address) }]);
  get(url, { lookup: known, agent: false, signal }, resolve).once('error', reject);
  const response = await promise;
  if (response.statusCode === 200) return response;
  response.destroy();
  throw new ServiceError(422, 'url_failed', `The response of the URL has the status ${response.statusCode}.`);
}

function upTo(maxBytes: number) {
  return async function* limit(source: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0;
    for await (const chunk of source) {
      size += chunk.byteLength;
      if (size > maxBytes) throw tooLarge(maxBytes);
      yield chunk;
    }
  };
}
