import { ConfigError } from '../lib/errors.ts';
import type { Asset } from './assets.ts';
import { readOptionFile, urlOf } from './option-file.ts';

const OPTION = 'interactions.brand.stylesheet';

/** Reads the brand's own stylesheet, to be served beside the bundled ones. */
export function resolveStylesheet(stylesheet: string | URL | undefined): Asset | undefined {
  if (stylesheet === undefined) return undefined;
  const url = urlOf(stylesheet);
  if (url?.protocol !== 'file:') throw new ConfigError(OPTION, 'must be an absolute path or a file: URL.');
  return { name: 'brand.css', type: 'text/css', content: readOptionFile(OPTION, url) };
}
