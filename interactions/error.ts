import type { PageError, RefusedPage } from '../lib/contracts/index.ts';
import {
  ClientSourceError,
  GatehouseError,
  missingPermission,
  PermissionMissingError,
} from '../lib/errors.ts';
import type { GatehouseErrorCode } from '../lib/errors.ts';
import type { Link } from './navigation.ts';
import type { Detail, Viewer } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { printable, sentence } from './sentence.ts';
import type { TextKey, Texts } from './text.ts';
import { describeViewer } from './viewer.ts';

type ErrorName = { [K in TextKey]: K extends `error.${infer Name}.heading` ? Name : never }[TextKey];

/** The errors that users can cause on the pages. Any other error is a fault of the server, which the caller logs. */
const ERROR_PAGES: Partial<Record<GatehouseErrorCode, ErrorName>> = {
  ERR_INTERACTION_EXPIRED: 'interaction_expired',
  ERR_LOGIN_REFUSED: 'login_refused',
  ERR_CROSS_SITE: 'cross_site',
  ERR_BODY: 'unreadable_form',
  ERR_CONSENT_INVALID: 'unreadable_form',
  ERR_LOGOUT_REQUEST: 'invalid_request',
  ERR_URL_TOO_LONG: 'other',
  ERR_CLIENT_NOT_FOUND: 'app_not_found',
  ERR_PERMISSION_MISSING: 'not_permitted',
};

/** The errors whose message, in English for developers, the page shows as well. */
const WITH_MESSAGE: ReadonlySet<GatehouseErrorCode> = new Set([
  'ERR_BODY',
  'ERR_CLIENT_SOURCE',
  'ERR_CONSENT_INVALID',
  'ERR_LOGIN_REFUSED',
  'ERR_LOGOUT_REQUEST',
  'ERR_URL_TOO_LONG',
]);

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
export function showErrorPage(request: PageRequest, error: PageError, viewer?: Viewer): void {
  const { show, text } = request;
  const { status, error: code, description, reference, scope = '' } = error;
  const known = isErrorName(code, text) ? code : undefined;
  const name = known ?? (status >= 500 ? 'server_error' : 'other');
  show({
    view: 'notice',
    status,
    viewer,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: [
      { label: text['error.code'], value: code },
      { label: text['error.scope'], value: printable(scope) },
      // The address itself is a stranger's text, which a page of the platform does not repeat.
      {
        label: text['error.developers'],
        value: code === 'invalid_redirect_uri' ? text['error.redirectUri'] : '',
      },
      { label: text['error.description'], value: SAID.has(code) ? '' : description, language: 'en' },
      { label: text['error.reference'], value: reference },
    ].filter(({ value }) => value !== ''),
    next: waysOn(request, name),
  });
}

/** Shows what the flow has refused, with the header of the signed-in user, if any. */
export async function showRefusal(request: PageRequest, page: RefusedPage): Promise<void> {
  const { show, text } = request;
  const { cause, description, reference, status, user } = page;
  const name = pageOf(cause);
  const viewer = user && (await describeViewer(request, user));
  if (!(cause instanceof GatehouseError) || !name) return showErrorPage(request, page, viewer);
  return show({
    view: 'notice',
    status,
    viewer,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: [
      ...(WITH_MESSAGE.has(cause.code)
        ? [{ label: text['error.description'], value: description, language: 'en' }]
        : []),
      ...(cause instanceof PermissionMissingError ? [missingPermissionOf(cause, text)] : []),
      { label: text['error.reference'], value: reference },
    ],
    next: waysOn(request, name),
  });
}

/** What a user lacks, in the language of the page; or the message of the host, in a language that is not known. */
function missingPermissionOf({ message, permission }: PermissionMissingError, text: Texts): Detail {
  const label = text[`permission.${permission}`];
  if (label === undefined && message !== missingPermission(permission))
    return { label: text['error.message'], value: message };
  return { label: text['error.permission'], value: label ?? permission };
}

/** The links of an error page: to the same page again where that can help, and to the platform's home page. */
function waysOn({ ctx, homePage, server, text }: PageRequest, name: ErrorName): readonly Link[] {
  // A posted form is shown again at its own URL.
  const mayHelp = name === 'unreadable_form' || (PASSING.has(name) && ctx.method === 'GET');
  const again = { href: server.basePath + ctx.path + ctx.search, label: text['page.again'] };
  return mayHelp ? [again, homePage] : [homePage];
}

function pageOf(error: unknown): ErrorName | undefined {
  if (error instanceof ClientSourceError) return `client_source_${error.reason}`;
  return error instanceof GatehouseError ? ERROR_PAGES[error.code] : undefined;
}

/** Features have texts of errors too. */
function isErrorName(code: string, text: Texts): code is ErrorName {
  return Object.hasOwn(text, `error.${code}.heading`);
}
