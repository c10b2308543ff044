import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '../lib/errors.ts';
import type { Check } from '../lib/options/declare.ts';
import type { PublishedAsset } from './assets.ts';

const LARGEST_LOGO = 256 * 1024;

/** The brand's logo: an image that this server serves, or the URL of one on another server. */
export type Logo =
  | { readonly kind: 'image'; readonly name: string; readonly type: string; readonly content: Buffer }
  | { readonly kind: 'remote'; readonly url: URL };

export const logo: Check<string | URL, Logo> = (place, given) => {
  const url = urlOf(given);
  if (url?.protocol === 'https:') return { kind: 'remote', url };
  if (url?.protocol === 'file:') return image(place, readOptionFile(place, url));
  if (url?.protocol === 'data:') return image(place, decodeDataUrl(place, url));
  throw new ConfigError(place, 'must be an absolute path, or a URL that begins with https:, file: or data:.');
};

function image(place: string, content: Buffer): Logo {
  if (content.length > LARGEST_LOGO) {
    throw new ConfigError(place, `has ${content.length} bytes. Give an image of at most ${LARGEST_LOGO}.`);
  }
  const format = imageFormat(content);
  if (!format) throw new ConfigError(place, 'is not an SVG, PNG, JPEG or WebP image.');
  return { kind: 'image', name: `logo.${format.extension}`, type: format.type, content };
}

function decodeDataUrl(place: string, url: URL): Buffer {
  const [head = '', ...data] = url.href.split(',');
  try {
    const text = decodeURIComponent(data.join(','));
    return Buffer.from(text, head.endsWith(';base64') ? 'base64' : 'utf8');
  } catch (error) {
    throw new ConfigError(place, 'is a data: URL that cannot be decoded.', { cause: error });
  }
}

// By content, not by file name: with `X-Content-Type-Options: nosniff`, browsers do not show a PNG that is named `logo.svg`.
function imageFormat(content: Buffer): { extension: string; type: string } | undefined {
  const start = content.toString('latin1', 0, 1024);
  if (start.startsWith('\x89PNG\r\n')) return { extension: 'png', type: 'image/png' };
  if (start.startsWith('\xff\xd8\xff')) return { extension: 'jpg', type: 'image/jpeg' };
  if (/^RIFF[^]{4}WEBP/.test(start)) return { extension: 'webp', type: 'image/webp' };
  if (/^(?:\xef\xbb\xbf)?\s*</.test(start) && content.includes('<svg')) {
    return { extension: 'svg', type: 'image/svg+xml' };
  }
  return undefined;
}

/** The stylesheet that is served in addition to the bundled ones. */
export const stylesheet: Check<string | URL, PublishedAsset> = (place, given) => {
  const url = urlOf(given);
  if (url?.protocol !== 'file:') throw new ConfigError(place, 'must be an absolute path or a file: URL.');
  return { name: 'brand.css', type: 'text/css', content: readOptionFile(place, url) };
};

/** The URL of an option, which is a URL or an absolute path; `null` when it is neither. */
function urlOf(given: string | URL): URL | null {
  return typeof given === 'string' && isAbsolute(given) ? pathToFileURL(given) : URL.parse(String(given));
}

/** Reads the file of an option; called once, at start. */
function readOptionFile(option: string, url: URL): Buffer {
  try {
    return readFileSync(url);
  } catch (error) {
    throw new ConfigError(option, `cannot be read from ${url.href}. Check the path and its permissions.`, {
      cause: error,
    });
  }
}
