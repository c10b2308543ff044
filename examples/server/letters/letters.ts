import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

import ejs from 'ejs';
import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';
import type { ConvertOptions, HtmlToPdf } from 'koa-gatehouse/html-pdf';
import { ConfigError } from 'koa-gatehouse';

import type { School } from '../schools.ts';
import { SettingsError } from '../settings.ts';

/** Makes the enrolment letters of schools. */
export interface Letters {
  /**
   * Makes the letter of a school, a PDF.
   *
   * @throws ConfigError when Chromium or playwright-core is missing; HtmlToPdfError when the conversion fails
   */
  print(school: School, options: Pick<ConvertOptions, 'format' | 'signal'>): Promise<Uint8Array>;
  stop(): Promise<void>;
}

const WORDMARK = readFileSync(resolve(import.meta.dirname, '../public/wordmark.svg'));

const DATE = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });

const FOOTER = 'Page <span class="pageNumber"></span> of <span class="totalPages"></span>';

/** Reads `CHROMIUM` and `CHROMIUM_SANDBOX`. Without Chromium the platform starts too; only its letters fail. */
export function createLetters(environment: Readonly<Record<string, string | undefined>>): Letters {
  const render = loadView();
  const converter = createConverter({
    executablePath: environment['CHROMIUM'] || undefined,
    sandbox: readSandbox(environment['CHROMIUM_SANDBOX'] || 'true'),
  });
  return {
    async print(school, options) {
      if (converter instanceof ConfigError) throw converter;
      const html = render({ school, date: DATE.format(new Date()) });
      return converter.convert(html, { ...options, margin: '2cm', footer: FOOTER });
    },
    async stop() {
      if (!(converter instanceof ConfigError)) await converter.close();
    },
  };
}

/** `<%= %>` in the view escapes its value: names of schools are input. */
function loadView(): (page: object) => string {
  const text = readFileSync(resolve(import.meta.dirname, 'views/letter.ejs'), 'utf8');
  return ejs.compile(text, { _with: false, localsName: 'page' });
}

/** The queue is short: when it is full, a client gets 503 at once, instead of a letter after its own timeout. */
function createConverter(options: {
  executablePath: string | undefined;
  sandbox: boolean;
}): HtmlToPdf | ConfigError {
  try {
    return createHtmlToPdf({
      ...options,
      concurrency: 2,
      maxQueue: 10,
      assets: (path) => (path === 'wordmark.svg' ? { data: WORDMARK, type: 'image/svg+xml' } : undefined),
    });
  } catch (error) {
    if (error instanceof ConfigError) return error;
    throw error;
  }
}

function readSandbox(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new SettingsError(`CHROMIUM_SANDBOX: give true or false, not "${text}".`);
}
