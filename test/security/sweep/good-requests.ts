import { randomUUID } from 'node:crypto';

import { pkce } from '../../harness/pkce.ts';
import { basic } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';
import type { Known } from './swept-server.ts';

/** The verifier and challenge of the code. */
export const PKCE: ReturnType<typeof pkce> = pkce('v'.repeat(43));

/** Credentials and pages that the requests use. */
export interface Credentials {
  /** Cookies of four browsers: one signed in, one that may be signed out, two with open pages. */
  readonly cookies: Readonly<Record<'signedIn' | 'leaving' | 'login' | 'consent', string>>;
  /** The paths of the open pages. */
  readonly pages: { readonly login: string; readonly consent: string };
  readonly accessToken: string;
  readonly refreshToken: string;
  readonly code: string;
}

/** A parameter or a member. With `json` the value is JSON text. */
export interface Field {
  readonly name: string;
  readonly value: string;
  readonly json?: boolean;
}

export interface GoodRequest {
  readonly method: string;
  readonly path: string;
  readonly in: 'query' | 'form' | 'json';
  readonly fields: readonly Field[];
  readonly headers: Readonly<Record<string, string>>;
}

/** At least one valid request to each endpoint. */
export function goodRequests(known: Known, credentials: Credentials): GoodRequest[] {
  return [
    ...ofEngine(known, credentials),
    ...ofPages(known, credentials),
    ...ofApi(credentials),
    ...elsewhere(),
  ];
}

function ofEngine({ app, publicApp, service }: Known, credentials: Credentials): GoodRequest[] {
  const { parameters, verifier } = PKCE;
  const asApp = asClient(app);
  const asService = asClient(service);
  const asked = {
    client_id: app.client.id,
    redirect_uri: app.redirectUri,
    response_type: 'code',
    scope: 'schools:read',
    state: 'xyz',
    ...parameters,
  };
  const redeemed = {
    grant_type: 'authorization_code',
    code: credentials.code,
    redirect_uri: app.redirectUri,
    code_verifier: verifier,
  };
  return [
    get('/oauth/authorize', {}, asked),
    get('/oauth/authorize', { cookie: credentials.cookies.signedIn }, asked),
    get('/oauth/authorize', { cookie: credentials.cookies.signedIn }, { ...asked, prompt: 'none' }),
    get('/oauth/authorize', {}, { ...asked, client_id: publicApp.client.id }),
    get('/oauth/authorize/unknown', { cookie: credentials.cookies.login }),
    post('form', '/oauth/token', { ...asService, grant_type: 'client_credentials' }),
    post('json', '/oauth/token', { ...asService, grant_type: 'client_credentials', scope: 'schools:read' }),
    post(
      'form',
      '/oauth/token',
      { grant_type: 'client_credentials' },
      basic(service.client.id, service.secret),
    ),
    post('form', '/oauth/token', { ...asApp, ...redeemed }),
    post('json', '/oauth/token', { ...asApp, ...redeemed }),
    post(
      'form',
      '/oauth/token',
      { client_id: publicApp.client.id, ...redeemed },
      { origin: 'https://reports.example' },
    ),
    post('form', '/oauth/token', {
      ...asApp,
      grant_type: 'refresh_token',
      refresh_token: credentials.refreshToken,
    }),
    post('json', '/oauth/revoke', { ...asApp, token: 'unknown', token_type_hint: 'access_token' }),
    post('form', '/oauth/introspect', { ...asApp, token: credentials.accessToken }),
    get('/oauth/jwks'),
    get('/.well-known/oauth-authorization-server'),
  ];
}

function ofPages({ doomed, owned, secretId }: Known, { cookies, pages }: Credentials): GoodRequest[] {
  const own = `/developer/apps/${owned.client.id}`;
  const once = randomUUID();
  const version = String(owned.client.updatedAt);
  const signedIn = { cookie: cookies.signedIn };
  const here = { ...signedIn, 'sec-fetch-site': 'same-origin' };
  const login = { login: 'dora@school.example', password: 'a wrong password' };
  // Requests that could end the sessions or apps of the other requests are sent without a session, or for another app,
  // because a change may turn their method or path into a valid one.
  const signedOut = { 'sec-fetch-site': 'same-origin' };
  return [
    get(pages.login, { cookie: cookies.login }),
    post('form', `${pages.login}/login`, login, { ...signedOut, cookie: cookies.login }),
    get(pages.consent, { cookie: cookies.consent }),
    post('form', `${pages.consent}/consent`, {}, signedOut),
    post('form', `${pages.consent}/deny`, {}, signedOut),
    post('form', `${pages.consent}/switch`, {}, signedOut),
    get('/oauth/login', {}, { return_to: '/account/apps' }),
    get('/oauth/login', signedIn, { return_to: '/account/apps' }),
    post('form', '/oauth/login', login, signedOut),
    post(
      'form',
      '/oauth/login?return_to=/account/apps',
      { ...login, password: 'password of dora' },
      signedOut,
    ),
    get('/oauth/logout', { cookie: cookies.leaving }),
    post('form', '/oauth/logout', {}, signedOut),
    get('/oauth/assets/x/page.css'),
    get('/account/apps', signedIn),
    get(`/account/apps/${owned.client.id}/revoke`, signedIn),
    post('form', `/account/apps/${owned.client.id}/revoke`, {}, here),
    get('/developer/apps', signedIn, { search: 'Nightly' }),
    get('/developer/apps/new', signedIn),
    post('form', '/developer/apps/new', { once, name: 'Nightly', grantType: 'client_credentials' }, here),
    get(own, signedIn),
    get(`${own}/settings`, signedIn),
    post('form', `${own}/settings`, { version, name: 'Nightly', redirectUris: '' }, here),
    get(`${own}/permissions`, signedIn),
    post('form', `${own}/permissions`, { version, 'permission-0': 'view_schools' }, here),
    get(`${own}/secrets`, signedIn),
    post('form', `${own}/secrets`, { once, label: 'next', expires: '' }, here),
    get(`${own}/secrets/${secretId}/delete`, signedIn),
    post('form', `${own}/secrets/${randomUUID()}/delete`, {}, here),
    get(`${own}/activity`, signedIn, { before: '0' }),
    get(`${own}/disable`, signedIn),
    post('form', `${own}/disable`, {}, signedOut),
    post('form', `${own}/enable`, {}, here),
    get(`/developer/apps/${doomed.client.id}/delete`, signedIn),
    post('form', `${own}/delete`, {}, signedOut),
  ];
}

function ofApi({ accessToken }: Credentials): GoodRequest[] {
  const bearer = { authorization: `Bearer ${accessToken}` };
  const actions = '/api/v1/actions/school';
  const school = { name: 'Hill School' };
  return [
    get('/api/v1/identity', bearer),
    get('/api/v1/identity'),
    get('/api/v1/actions', bearer),
    get(`${actions}/create-school-action`, bearer),
    post('json', `${actions}/create-school-action`, school, { ...bearer, 'idempotency-key': randomUUID() }),
    post('json', `${actions}/7/rename-school-action`, school, bearer),
    bulk(`${actions}/create-school-action/bulk`, bearer),
    bulk(`${actions}/rename-school-action/bulk`, bearer),
    get('/api/v1/objects/school', bearer),
    get('/api/v1/objects/school/7', bearer),
    get('/api/v1/openapi.json', bearer),
    get('/api/v1/docs', bearer),
    get('/api/v1/nothing', bearer),
  ];
}

function bulk(path: string, headers: Record<string, string>): GoodRequest {
  const items = '[{"id":"1","input":{"name":"Hill School"}},{"input":{"name":"Dale School"}}]';
  const fields = [
    { name: 'mode', value: 'independent' },
    { name: 'items', value: items, json: true },
  ];
  return { method: 'POST', path, in: 'json', fields, headers };
}

function elsewhere(): GoodRequest[] {
  return [
    '/',
    '/oauth',
    '/oauth/nothing',
    '/oauth/logout/confirm',
    '/.well-known/openid-configuration',
    '/.well-known/nothing',
    '/favicon.ico',
  ].map((path) => get(path));
}

function get(path: string, headers: Record<string, string> = {}, query: object = {}): GoodRequest {
  return { method: 'GET', path, in: 'query', fields: fieldsOf(query), headers };
}

function post(
  kind: 'form' | 'json',
  path: string,
  fields: object,
  headers: Record<string, string> = {},
): GoodRequest {
  return { method: 'POST', path, in: kind, fields: fieldsOf(fields), headers };
}

function fieldsOf(object: object): Field[] {
  return Object.entries(object as Record<string, string>).map(([name, value]) => ({ name, value }));
}
