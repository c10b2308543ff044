import { poll } from '../../devices/device.ts';
import { message, post } from '../../mcp/agents.ts';
import type { Platform, RegisteredApp } from '../../harness/platform.ts';
import { postForm, send } from '../../harness/requests.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../../harness/tokens.ts';
import type { Held } from './held.ts';
import { directly } from './nodes.ts';

/** Where something is presented. */
export interface Place {
  /** What it answers while nothing was ended. */
  readonly accepted: string;
  /** The credential works once, so that it is not presented before the end. */
  readonly once?: true;
  /** @param index - of the node, for a credential that works once */
  ask(node: Platform, held: Held, index: number): Promise<string>;
}

async function atGuard(node: Platform, token: string): Promise<string> {
  const { body, status } = await node.api('/schools', token);
  return outcome(status, body['code']);
}

async function atUserinfo(node: Platform, token: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const { body, status } = await send(directly(node).url('/oauth/userinfo'), { headers });
  return outcome(status, body?.['error']);
}

async function introspected(node: Platform, token: string, by: RegisteredApp): Promise<string> {
  const url = directly(node).url('/oauth/introspect');
  const { body, status } = await postForm(url, { token, ...asClient(by) });
  const { active, error, limited, scope } = body!;
  return status === 200
    ? [active === true ? 'active' : 'inactive', scope, limited && 'limited'].filter(Boolean).join(' ')
    : outcome(status, error);
}

async function refreshed(
  node: Platform,
  app: Pick<RegisteredApp, 'client' | 'secret'>,
  token: string,
): Promise<string> {
  const { body, status } = await exchangeRefreshToken(node, app, token);
  return outcome(status, body.error ?? body.scope);
}

/** @param detail - the scope of a success, or the code of an error */
function outcome(status: number, detail: unknown): string {
  return typeof detail === 'string' ? `${status} ${detail}` : String(status);
}

/** Every place that accepts something, with what it accepts. */
export const PLACES = {
  'the guard': { accepted: '200', ask: async (node, { app }) => atGuard(node, app.tokens.access_token) },
  'the guard, a session': {
    accepted: '200',
    async ask(node, { browser }) {
      const page = await browser.get(node.url('/own'), { 'sec-fetch-site': 'same-origin' });
      const { code } = JSON.parse(page.html) as { readonly code?: string };
      return outcome(page.status, code);
    },
  },
  userinfo: {
    accepted: '200',
    ask: async (node, { app }) => atUserinfo(node, app.tokens.access_token),
  },
  introspection: {
    accepted: 'active openid schools:read schools:write',
    ask: async (node, { api, app }) => introspected(node, app.tokens.access_token, api),
  },
  'introspection, a refresh token': {
    accepted: 'active openid schools:read schools:write',
    ask: async (node, { app }) => introspected(node, app.tokens.refresh_token, app),
  },
  revocation: {
    accepted: '200',
    once: true,
    async ask(node, { app, unwanted }, index) {
      const url = directly(node).url('/oauth/revoke');
      const { body, status } = await postForm(url, { token: unwanted[index]!, ...asClient(app) });
      return outcome(status, body?.['error']);
    },
  },
  'a refresh': {
    accepted: '200 openid schools:read schools:write',
    ask: async (node, { app }) => refreshed(node, app, app.tokens.refresh_token),
  },
  'a code': {
    accepted: '200 schools:read',
    once: true,
    async ask(node, { app }, index) {
      const { body, status } = await exchangeCode(node, app, app.codes[index]);
      return outcome(status, body.error ?? body.scope);
    },
  },
  'a poll, waiting': {
    accepted: '400 authorization_pending',
    once: true,
    async ask(node, { device }, index) {
      const { body, status } = await poll(directly(node), device, device.waiting[index]!);
      return outcome(status, body?.['error']);
    },
  },
  'a poll, approved': {
    accepted: '200 schools:read',
    once: true,
    async ask(node, { device }, index) {
      const { body, status } = await poll(directly(node), device, device.approved[index]!);
      return outcome(status, body?.['error'] ?? body?.['scope']);
    },
  },
  'a refresh, a device': {
    accepted: '200 schools:read',
    ask: async (node, { device }) => refreshed(node, device, device.tokens.refresh_token),
  },
  'client credentials': {
    accepted: '200',
    async ask(node, { service }) {
      const { body, status } = await requestClientToken(node, service);
      return outcome(status, body.error);
    },
  },
  'the guard, a client for itself': {
    accepted: '200',
    ask: async (node, { service }) => atGuard(node, service.token),
  },
  'introspection, a client for itself': {
    accepted: 'active',
    ask: async (node, { api, service }) => introspected(node, service.token, api),
  },
  '/mcp': {
    accepted: '200',
    async ask(node, { agent }) {
      const url = directly(node).url('/mcp').href;
      const { body, status } = await post({ url }, agent.tokens.access_token, message('tools/list'));
      return outcome(status, body?.['code']);
    },
  },
  'introspection, an agent': {
    accepted: 'active openid tools:use',
    ask: async (node, { agent, api }) => introspected(node, agent.tokens.access_token, api),
  },
  'a refresh, an agent': {
    accepted: '200 openid tools:use',
    ask: async (node, { agent }) => refreshed(node, agent, agent.tokens.refresh_token),
  },
  'userinfo, an agent': {
    accepted: '200',
    ask: async (node, { agent }) => atUserinfo(node, agent.tokens.access_token),
  },
  'the guard, a personal token': {
    accepted: '200',
    ask: async (node, { personal }) => atGuard(node, personal.value),
  },
  'introspection, a personal token': {
    accepted: 'active schools:read',
    ask: async (node, { api, personal }) => introspected(node, personal.value, api),
  },
  'introspection, a personal token for agents': {
    accepted: 'active tools:use',
    ask: async (node, { api, personalOfAgent }) => introspected(node, personalOfAgent.value, api),
  },
  'the guard, an app with a document': {
    accepted: '200',
    ask: async (node, { unknown }) => atGuard(node, unknown.tokens.access_token),
  },
  'introspection, an app with a document': {
    accepted: 'active schools:read',
    ask: async (node, { api, unknown }) => introspected(node, unknown.tokens.access_token, api),
  },
  'a refresh, an app with a document': {
    accepted: '200 schools:read',
    async ask(node, { unknown }) {
      const { body, status } = await node.token({
        grant_type: 'refresh_token',
        client_id: unknown.id,
        refresh_token: unknown.tokens.refresh_token,
      });
      return outcome(status, body.error ?? body.scope);
    },
  },
  'the guard, an app that registered itself': {
    accepted: '200',
    ask: async (node, { registered }) => atGuard(node, registered.tokens.access_token),
  },
  'a refresh, an app that registered itself': {
    accepted: '200 schools:read',
    ask: async (node, { registered }) => refreshed(node, registered, registered.tokens.refresh_token),
  },
} as const satisfies Readonly<Record<string, Place>>;

export type PlaceName = keyof typeof PLACES;
