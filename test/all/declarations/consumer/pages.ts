import type { Context } from 'koa';
import { createAuthServer } from 'koa-gatehouse';
import type { AuthServerOptions, InteractionFlow } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { escapeHtml, pages } from 'koa-gatehouse/interactions';
import type { PageData, PagesOptions } from 'koa-gatehouse/interactions';

type Interactions = NonNullable<AuthServerOptions['interactions']>;

export const bundled = pages({ brand: { name: 'Acme' } });
export const escape = escapeHtml;
export const own: PagesOptions = {
  views: { login: (page) => escapeHtml(page.title) },
  text: { 'login.heading': 'Welcome' },
};
export const consentPage = (page: PageData<'consent'>) => page;
export const choicesOf = (page: PageData<'consent'>) => page.optional;
export const viewerOf = (page: PageData) => page.viewer;

export const made = (flow: Parameters<Interactions>[0]) => bundled(flow);
export const withPages = await createAuthServer({
  issuer: '',
  users: {} as never,
  storage: memoryStorage(),
  interactions: own.views ? pages(own) : bundled,
});
export const signInPage = async (flow: InteractionFlow, ctx: Context) => flow.loginWithoutClient(ctx);
export const refusal = async (flow: InteractionFlow, ctx: Context) => {
  const page = await flow.consent(ctx);
  return page?.kind === 'error' ? page : undefined;
};
export const redirection = async (flow: InteractionFlow, ctx: Context) => {
  const page = await flow.login(ctx);
  return page?.kind === 'redirect' ? page : undefined;
};
