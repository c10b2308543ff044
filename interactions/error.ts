import type { Context, Middleware } from 'koa';
import type { PageError } from '../lib/contracts/index.ts';
import { GatehouseError } from '../lib/errors.ts';
import type { GatehouseErrorCode } from '../lib/errors.ts';
import type { Viewer } from './page.ts';
import { sentence } from './sentence.ts';
import type { PageContext, PageContextFor } from './page-context.ts';
import { isTextKey } from './text.ts';
import type { TextKey } from './text.ts';

type ErrorName = { [K in TextKey]: K extends `error.${infer Name}.heading` ? Name : never }[TextKey];

/** What a person may run into on the pages themselves. Everything else is a fault, and the caller's to log. */
const ERROR_PAGES: Partial<Record<GatehouseErrorCode, ErrorName>> = {
  ERR_INTERACTION_EXPIRED: 'interaction_expired',
  ERR_CROSS_SITE: 'cross_site',
  ERR_BODY: 'unreadable_form',
  ERR_CLIENT_NOT_FOUND: 'app_not_found',
  ERR_PERMISSION_MISSING: 'not_permitted',
};

/** Those whose message tells a person more than the page does, and its language, unless the host wrote it. */
const TELLING: Partial<Record<GatehouseErrorCode, { readonly language?: string }>> = {
  ERR_BODY: { language: 'en' },
  ERR_PERMISSION_MISSING: {},
};

/** Shows an error in words for a person; below them, small, what the developer of the app needs. */
export function showError(ctx: Context, error: PageError, { show, text }: PageContext): void {
  const { status, error: code, description, reference } = error;
  const known = isErrorName(code) ? code : undefined;
  const name = known ?? (status >= 500 ? 'server_error' : 'other');
  show(ctx, {
    view: 'notice',
    status,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: [
      { label: text['error.code'], value: code },
      { label: text['error.description'], value: description, language: 'en' },
      { label: text['error.reference'], value: reference },
    ].filter(({ value }) => value !== ''),
  });
}

/** Answers what a page's step refuses with a page, and lets every other error pass. */
export function answerErrors(pageContextFor: PageContextFor): Middleware {
  return async function answerError(ctx, next) {
    try {
      await next();
    } catch (error) {
      showExpectedError(ctx, error, pageContextFor(ctx));
    }
  };
}

/** Shows what was refused, in the frame of the person who is signed in, if any. Throws every other error again. */
export function showExpectedError(
  ctx: Context,
  error: unknown,
  { show, text }: PageContext,
  viewer?: Viewer,
): void {
  const name = error instanceof GatehouseError ? ERROR_PAGES[error.code] : undefined;
  if (!(error instanceof GatehouseError) || !name) throw error;
  const telling = TELLING[error.code];
  show(ctx, {
    view: 'notice',
    status: error.status,
    viewer,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: telling ? [{ label: text['error.description'], value: error.message, ...telling }] : [],
  });
}

function isErrorName(code: string): code is ErrorName {
  return isTextKey(`error.${code}.heading`);
}
