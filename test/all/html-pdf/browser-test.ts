import { existsSync } from 'node:fs';

import test from '../../harness/test.ts';
import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';
import type { HtmlToPdfEvent, HtmlToPdf } from 'koa-gatehouse/html-pdf';

import { CHROMIUM } from '../../harness/chromium-path.ts';
import { sayMissing } from '../../harness/missing.ts';
import type { HtmlToPdfOptions } from '../../../lib/html-pdf/options.ts';

const NEEDED = ['/usr/bin/pdfinfo', '/usr/bin/pdftotext', '/usr/bin/setpriv'];
const missing = NEEDED.filter((path) => !existsSync(path));
if (CHROMIUM === undefined) missing.push('/usr/bin/chromium-headless-shell');

/** `test` for a file that needs Chromium and poppler: skipped with a message without them; with `CI` set they fail. */
export function browserTest(): typeof test {
  if (missing.length === 0) return test;
  sayMissing(
    `there is no ${missing.join(', ')}: install chromium-headless-shell, poppler-utils and util-linux`,
  );
  return test.skip as typeof test;
}

/** Root may not use the sandbox; see sandbox.test.ts. */
const sandbox = process.getuid?.() !== 0;

/** A converter with the events that it has reported. */
export interface Observed extends HtmlToPdf {
  readonly events: HtmlToPdfEvent[];
  /** Waits for an event. */
  next(type: HtmlToPdfEvent['type']): Promise<HtmlToPdfEvent>;
}

export function converter(options: HtmlToPdfOptions = {}): Observed {
  const events: HtmlToPdfEvent[] = [];
  const waiting = new Set<(event: HtmlToPdfEvent) => void>();
  const pdf = createHtmlToPdf({
    sandbox,
    concurrency: 2,
    ...options,
    onEvent(event) {
      events.push(event);
      for (const tell of waiting) tell(event);
    },
  });
  return {
    ...pdf,
    [Symbol.asyncDispose]: async () => pdf.close(),
    events,
    async next(type) {
      return new Promise((done) => {
        const tell = (event: HtmlToPdfEvent): void => {
          if (event.type !== type) return;
          waiting.delete(tell);
          done(event);
        };
        waiting.add(tell);
      });
    },
  };
}
