import { Engine } from '../engine/run.ts';
import { createBrowserRequestOf, createLoginSessions } from '../login/login-session.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import type { ServerRecord } from './record.ts';
import type { ServerTokens } from './tokens.ts';

/** The login sessions of a server, for which there is an engine before it is started. */
export function createLogin(
  options: ResolvedOptions,
  {
    record: { audit },
    tokens: { endMissingUser },
  }: { readonly record: ServerRecord; readonly tokens: ServerTokens },
) {
  const engine = new Engine();
  const { provider } = engine;
  const browserRequestOf = createBrowserRequestOf(provider);
  const sessions = createLoginSessions(options, {
    audit,
    browserRequestOf,
    endMissingUser,
    provider,
  });
  return { engine, provider, browserRequestOf, sessions };
}
