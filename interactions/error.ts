import type { PageError } from '../lib/contracts/index.ts';
import { ClientMetadataError, GatehouseError } from '../lib/errors.ts';
import type { GatehouseErrorCode } from '../lib/errors.ts';
import type { Viewer } from './page.ts';
import type { PageRequest } from './page-request.ts';
import { sentence } from './sentence.ts';
import { isTextKey } from './text.ts';
import type { TextKey } from './text.ts';

type ErrorName = { [K in TextKey]: K extends `error.${infer Name}.heading` ? Name : never }[TextKey];

/** The errors that users can cause on the pages. Any other error is a fault of the server, which the caller logs. */
const ERROR_PAGES: Partial<Record<GatehouseErrorCode, ErrorName>> = {
  ERR_INTERACTION_EXPIRED: 'interaction_expired',
  ERR_CROSS_SITE: 'cross_site',
  ERR_BODY: 'unreadable_form',
  ERR_CONSENT_INVALID: 'unreadable_form',
  ERR_CLIENT_NOT_FOUND: 'app_not_found',
  ERR_PERMISSION_MISSING: 'not_permitted',
};

/** The errors whose message the page shows as well, with its language; a message of the host has no known language. */
const WITH_MESSAGE: Partial<Record<GatehouseErrorCode, { readonly language?: string }>> = {
  ERR_BODY: { language: 'en' },
  ERR_CLIENT_METADATA: { language: 'en' },
  ERR_CONSENT_INVALID: { language: 'en' },
  ERR_PERMISSION_MISSING: {},
};

/** Shows the error page: a sentence for the user, and below it, in small print, the details for the developer of the app. */
export function showError({ show, text }: PageRequest, error: PageError): void {
  const { status, error: code, description, reference } = error;
  const known = isErrorName(code) ? code : undefined;
  const name = known ?? (status >= 500 ? 'server_error' : 'other');
  show({
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

/** Shows an error that users can cause, with the header of the signed-in user, if any. Throws every other error again. */
export function showExpectedError({ show, text }: PageRequest, error: unknown, viewer?: Viewer): void {
  const name = pageOf(error);
  if (!(error instanceof GatehouseError) || !name) throw error;
  const message = WITH_MESSAGE[error.code];
  show({
    view: 'notice',
    status: error.status,
    viewer,
    heading: sentence(text[`error.${name}.heading`]),
    lead: sentence(text[`error.${name}.lead`]),
    details: message ? [{ label: text['error.description'], value: error.message, ...message }] : [],
  });
}

function pageOf(error: unknown): ErrorName | undefined {
  if (error instanceof ClientMetadataError) return `client_metadata_${error.reason}`;
  return error instanceof GatehouseError ? ERROR_PAGES[error.code] : undefined;
}

function isErrorName(code: string): code is ErrorName {
  return isTextKey(`error.${code}.heading`);
}
