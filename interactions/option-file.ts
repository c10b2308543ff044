import { readFileSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ConfigError } from '../lib/errors.ts';

/** The URL that an option gives, or that of the absolute path that it gives. */
export function urlOf(given: string | URL): URL | null {
  return typeof given === 'string' && isAbsolute(given) ? pathToFileURL(given) : URL.parse(String(given));
}

/** Reads the file that an option names, once, at start. */
export function readOptionFile(option: string, url: URL): Buffer {
  try {
    return readFileSync(url);
  } catch (error) {
    throw new ConfigError(option, `cannot be read from ${url.href}. Check the path and its permissions.`, {
      cause: error,
    });
  }
}
