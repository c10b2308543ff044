import { warning } from '../../findings/finding.ts';
import type { Findings } from '../../findings/finding.ts';
import { describeProbe, documentOf, probe } from '../../findings/probe.ts';
import type { Document, ProbeResult } from '../../findings/probe.ts';

/** Where an agent looks for the metadata of the endpoint (RFC 9728): at the URL that the challenge names, or below the well-known path. */
type Place = 'challenge' | 'path' | 'root';

/** How a common agent finds its way to an endpoint of the Model Context Protocol. */
interface Agent {
  readonly name: string;
  /** The places in the order of the agent's requests. */
  readonly places: readonly Place[];
  /** Whether the agent gives up at a response that is neither what it looks for nor a 4xx, as the SDK of the protocol does. */
  readonly isStrict: boolean;
}

// From the source of VS Code (`oauth.ts`) and of the SDK and, for the other agents, from logs that operators of servers have published:
// anthropics/claude-code#83681, gamedevpl/www.gamedev.pl#483 (Cursor), kernel/kernel-mcp-server#91 (ChatGPT).
const AGENTS: readonly Agent[] = [
  { name: 'Claude', places: ['challenge'], isStrict: true },
  { name: 'ChatGPT', places: ['root', 'path'], isStrict: false },
  { name: 'VS Code', places: ['challenge', 'path', 'root'], isStrict: false },
  { name: 'Cursor', places: ['path', 'root'], isStrict: true },
];

/**
 * Sends what common agents send before they register, in their order, to the endpoint `/mcp` below the issuer, if it is there. The
 * requests store nothing.
 */
export async function* checkAgents(issuer: string): Findings {
  const endpoint = `${issuer}/mcp`;
  const answer = await probe(endpoint);
  if (!('status' in answer) || answer.status !== 401) return;
  const named = /\bresource_metadata="([^"]+)"/.exec(answer.challenge ?? '')?.[1];
  const responses = new Map<string, Promise<ProbeResult>>();
  const ask = async (url: string): Promise<ProbeResult> => {
    const response = responses.get(url) ?? probe(url);
    responses.set(url, response);
    return response;
  };
  const start = { ask, endpoint: new URL(endpoint), named };
  const results = await Promise.all(
    AGENTS.map(async (agent) => ({ agent: agent.name, discovery: await discover(agent, start) })),
  );
  for (const [failure, lost] of Map.groupBy(results, ({ discovery }) => discovery.failure)) {
    if (failure === undefined) continue;
    const names = new Intl.ListFormat('en').format(lost.map(({ agent }) => agent));
    yield warning(
      'agents_lost',
      `${names} cannot connect to ${endpoint}: ${failure}.`,
      'Let the proxy pass these paths on to the server, and answer with 404 what is nowhere.',
    );
  }
  const metadata = results.find(({ discovery }) => discovery.found)?.discovery.found;
  if (!metadata || metadata['registration_endpoint'] || metadata['client_id_metadata_document_supported'])
    return;
  yield warning(
    'agents_unknown',
    `The endpoint ${endpoint} is for agents, but the server admits none: they can neither register themselves nor publish a document.`,
    'Pass features: [agents()] to createAuthServer().',
  );
}

/** What is known before an agent sends its requests. */
interface Start {
  readonly ask: (url: string) => Promise<ProbeResult>;
  readonly endpoint: URL;
  /** The URL of the endpoint's metadata, as its challenge names it. */
  readonly named: string | undefined;
}

/** The metadata of the authorization server, or the reason why an agent does not find it. */
interface Discovery {
  readonly found?: Document;
  readonly failure?: string;
}

async function discover({ isStrict, places }: Agent, { ask, endpoint, named }: Start): Promise<Discovery> {
  const urls = places.map((place) => {
    if (place === 'challenge' && named !== undefined) return named;
    return inserted('oauth-protected-resource', place === 'root' ? new URL(endpoint.origin) : endpoint);
  });
  const api = await first(urls, isOfApi);
  if (!api.found) return api;
  const issuer = new URL(
    (api.found as unknown as { authorization_servers: [string] }).authorization_servers[0],
  );
  const openid = 'openid-configuration';
  const ofServer = ['oauth-authorization-server', openid].map((name) => inserted(name, issuer));
  if (issuer.pathname !== '/') ofServer.push(`${issuer.href}/.well-known/${openid}`);
  return first(
    ofServer,
    (document, url) => isOfServer(document) && (!url.includes(openid) || isOfOpenId(document)),
  );

  async function first(
    asked: readonly string[],
    isWanted: (document: Document, url: string) => boolean,
  ): Promise<Discovery> {
    const missed: string[] = [];
    for (const url of new Set(asked)) {
      const response = await ask(url);
      const document = documentOf(response);
      if (document && isWanted(document, url)) return { found: document };
      missed.push(`${url} (${document ? 'another document' : describeProbe(response)})`);
      if (isStrict && !isClientError(response)) break;
    }
    return { failure: `no metadata is at ${missed.join(', ')}` };
  }
}

/** The well-known path is inserted before the path of a URL (RFC 8414 section 3.1, RFC 9728 section 3.1). */
function inserted(name: string, { origin, pathname }: URL): string {
  return `${origin}/.well-known/${name}${pathname === '/' ? '' : pathname}`;
}

function isClientError(response: ProbeResult): boolean {
  return 'status' in response && response.status >= 400 && response.status < 500;
}

function isOfApi({ authorization_servers: servers, resource }: Document): boolean {
  return typeof resource === 'string' && Array.isArray(servers) && URL.canParse(String(servers[0]));
}

function isOfServer({ authorization_endpoint: endpoint, issuer }: Document): boolean {
  return typeof issuer === 'string' && typeof endpoint === 'string';
}

/** OpenID Connect Discovery 1.0 section 3: members that agents require and that a plain OAuth server does not have. */
function isOfOpenId(document: Document): boolean {
  return ['subject_types_supported', 'id_token_signing_alg_values_supported'].every((name) =>
    Array.isArray(document[name]),
  );
}
