import { ConfigError } from '../lib/errors.ts';
import { readOptionFile, urlOf } from './option-file.ts';

const OPTION = 'interactions.brand.logo';
const LIMIT = 256 * 1024;

/** The brand's logo: an image of ours to serve, or the URL of one that is served elsewhere. */
export type Logo =
  | { readonly kind: 'image'; readonly name: string; readonly type: string; readonly content: Buffer }
  | { readonly kind: 'remote'; readonly url: URL }
  /** No logo was given: the bundled mark stands for it. */
  | { readonly kind: 'mark' };

/** Reads the logo, or refuses it with a ConfigError that says what to give instead. */
export function resolveLogo(logo: string | URL | undefined): Logo {
  if (logo === undefined) return { kind: 'mark' };
  const url = urlOf(logo);
  if (url?.protocol === 'https:') return { kind: 'remote', url };
  if (url?.protocol === 'file:') return image(readOptionFile(OPTION, url));
  if (url?.protocol === 'data:') return image(decodeDataUrl(url));
  throw new ConfigError(
    OPTION,
    'must be an absolute path, or a URL that begins with https:, file: or data:.',
  );
}

function image(content: Buffer): Logo {
  if (content.length > LIMIT) {
    throw new ConfigError(OPTION, `has ${content.length} bytes. Give an image of at most ${LIMIT}.`);
  }
  const format = imageFormat(content);
  if (!format) throw new ConfigError(OPTION, 'is not an SVG, PNG, JPEG or WebP image.');
  return { kind: 'image', name: `logo.${format.extension}`, type: format.type, content };
}

function decodeDataUrl(url: URL): Buffer {
  const [head = '', ...data] = url.href.split(',');
  try {
    const text = decodeURIComponent(data.join(','));
    return Buffer.from(text, head.endsWith(';base64') ? 'base64' : 'utf8');
  } catch (error) {
    throw new ConfigError(OPTION, 'is a data: URL that cannot be decoded.', { cause: error });
  }
}

// The content decides: browsers are told not to guess, so a PNG called `logo.svg` would not show at all.
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
