import { readOptions } from '../../options/declare.ts';
import type { Feature } from '../feature.ts';
import { AGENTS } from './options.ts';
import type { AgentOptions } from './options.ts';
import { OF_DOCUMENT, SELF_REGISTERED } from './sources.ts';

export type { AgentOptions } from './options.ts';

/**
 * Lets the agents of your users connect on their own, for `createMcpEndpoint()`: they register themselves (RFC 7591), or are known by a
 * document at a URL (OAuth Client ID Metadata Document), and are granted scopes of the APIs in `resources`. The user is asked to consent
 * to each scope.
 *
 *     createAuthServer({ …, features: [agents()] })
 *     agents({ documents: { allow: ({ clientId }) => hosts.has(new URL(clientId).host) }, registration: false })
 *
 * @throws ConfigError for a wrong option
 */
export function agents(options: AgentOptions = {}): Feature {
  const settings = readOptions(AGENTS, options, 'agents()');
  const { documents, registration } = settings;
  return {
    name: 'agents',
    clientSources: [
      ...(registration ? [SELF_REGISTERED] : []),
      ...(documents ? [{ ...OF_DOCUMENT, loopback: documents.loopback }] : []),
    ],
    open: async (base) => (await import('./install.ts')).openAgents(base, settings),
    install: async (core) => (await import('./install.ts')).installAgents(core, settings),
    async *examine(issuer) {
      yield* (await import('./examine.ts')).checkAgents(issuer);
    },
    prune: async (...of) => (await import('./prune.ts')).deleteUnused(...of),
  };
}
