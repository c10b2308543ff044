import type { PageError } from '../lib/contracts/index.ts';
import { ClientSourceError, GatehouseError } from '../lib/errors.ts';
import type { GatehouseErrorCode } from '../lib/errors.ts';
import type { Link } from './navigation.ts';
import type { Viewer } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { printable, sentence } from './sentence.ts';
import { isTextKey } from './text.ts';
import type { TextKey } from './text.ts';

type ErrorName = { [K in TextKey]: K extends `error.${infer Name}.heading` ? Name : never }[TextKey];

/** The errors that users can cause on the pages. Any other error is a fault of the server, which the caller logs. */
const ERROR_PAGES: Partial<Record<GatehouseErrorCode, ErrorName>> = {
  ERR_INTERACTION_EXPIRED: 'interaction_expired',
  ERR_CROSS_SITE: 'cross_site',
  ERR_BODY: 'unreadable_form',
  ERR_CONSENT_INVALID: 'unreadable_form',
  ERR_LOGOUT_REQUEST: 'invalid_request',
  ERR_URL_TOO_LONG: 'other',
  ERR_CLIENT_NOT_FOUND: 'app_not_found',
  ERR_PERMISSION_MISSING: 'not_permitted',
};

/** The errors whose message the page shows as well: in English for developers, or of the host, in a language that is not known. */
const WITH_MESSAGE: Partial<Record<GatehouseErrorCode, 'error.description' | 'error.message'>> = {
  ERR_BODY: 'error.description',
  ERR_CLIENT_SOURCE: 'error.description',
  ERR_CONSENT_INVALID: 'error.description',
  ERR_LOGOUT_REQUEST: 'error.description',
  ERR_URL_TOO_LONG: 'error.description',
  ERR_PERMISSION_MISSING: 'error.message',
};

/** Errors of which the page says all that the description does, and in its own language. */
const SAID: ReadonlySet<string> = new Set(['invalid_client', 'invalid_redirect_uri', 'invalid_scope']);

/** Errors that may be over when the same page is opened again. */
const PASSING: ReadonlySet<ErrorName> = new Set([
  'client_source_unavailable',
  'server_error',
  'temporarily_unavailable',
  'too_many_attempts',
]);

/** Shows the error page: a sentence for the user, and below it, in small print, the details for the developer of the app. */
export function showErrorPage(request: PageRequest, error: PageError): void {
  const { show, text } = request;
  const { status, error: code, description, reference, scope = '' } = error;
  const known = isErrorName(code) ? code : undefined;
  const name = known ?? (status >= 500 ? 'server_error' : 'other');
  show({
    view: 'notice',
    status,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: [
      { label: text['error.code'], value: code },
      { label: text['error.scope'], value: printable(scope) },
      { label: text['error.description'], value: SAID.has(code) ? '' : description, language: 'en' },
      { label: text['error.reference'], value: reference },
    ].filter(({ value }) => value !== ''),
    next: waysOn(request, name),
  });
}

/** Shows an error that users can cause, with the header of the signed-in user, if any. Throws every other error again. */
export function showExpectedError(request: PageRequest, error: unknown, viewer?: Viewer): void {
  const { ctx, flow, show, text } = request;
  const name = pageOf(error);
  if (!(error instanceof GatehouseError) || !name) throw error;
  const label = WITH_MESSAGE[error.code];
  const language = label === 'error.description' ? 'en' : undefined;
  show({
    view: 'notice',
    status: error.status,
    viewer,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: [
      ...(label ? [{ label: text[label], value: error.message, language }] : []),
      { label: text['error.reference'], value: flow.refused(ctx, error) },
    ],
    next: waysOn(request, name),
  });
}

/** The links of an error page: to the same page again where that can help, and to the platform's home page. */
function waysOn({ ctx, flow, homePage, text }: PageRequest, name: ErrorName): readonly Link[] {
  // A posted form is shown again at its own URL.
  const mayHelp = name === 'unreadable_form' || (PASSING.has(name) && ctx.method === 'GET');
  const again = { href: flow.basePath + ctx.path + ctx.search, label: text['page.again'] };
  return mayHelp ? [again, homePage] : [homePage];
}

function pageOf(error: unknown): ErrorName | undefined {
  if (error instanceof ClientSourceError) return `client_source_${error.reason}`;
  return error instanceof GatehouseError ? ERROR_PAGES[error.code] : undefined;
}

function isErrorName(code: string): code is ErrorName {
  return isTextKey(`error.${code}.heading`);
}
