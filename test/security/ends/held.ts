import { answer, beginOn, poll, registerDevice } from '../../devices/device.ts';
import { connect } from '../../agents/documents.ts';
import { Browser } from '../../harness/browser.ts';
import { pkce } from '../../harness/pkce.ts';
import { authorize, runCodeFlow, signedIn } from '../../harness/platform.ts';
import type { Person, Platform, RegisteredApp, TokenAnswer } from '../../harness/platform.ts';
import { json } from '../../harness/public-server.ts';
import { serve } from '../../harness/serve.ts';
import { clientToken, exchangeCode } from '../../harness/tokens.ts';
import { AGENT, appOf, registered } from '../../agents/apps.ts';
import { directly, MCP, users } from './nodes.ts';

type Tokens = TokenAnswer['body'];

/** Whatever a user and apps can hold. Of what works once there is one for each node. */
export interface Held {
  readonly person: Person;
  readonly browser: Browser;
  /** The API in another process, which introspects. */
  readonly api: RegisteredApp;
  /** `spent`: the code that its tokens are of. */
  readonly app: RegisteredApp & {
    readonly tokens: Tokens;
    readonly spent: string;
    readonly codes: readonly string[];
  };
  /** A token of the app, to be revoked by it, for each node. */
  readonly unwanted: readonly string[];
  readonly service: RegisteredApp & { readonly token: string };
  readonly device: RegisteredApp & {
    readonly tokens: Tokens;
    readonly approved: readonly string[];
    readonly waiting: readonly string[];
  };
  readonly agent: RegisteredApp & { readonly tokens: Tokens };
  readonly personal: { readonly id: string; readonly value: string };
  /** For the API of agents. */
  readonly personalOfAgent: { readonly id: string; readonly value: string };
  /** The app with a document, and the one that has registered itself. */
  readonly unknown: { readonly id: string; readonly tokens: Tokens };
  readonly registered: RegisteredApp & { readonly tokens: Tokens };
}

export const BOTH_NODES = [0, 1] as const;

let count = 0;

/** The site of an app with a document. */
export async function serveDocument(): ReturnType<typeof serve> {
  return serve(
    () => (request, response) =>
      json({
        client_id: `http://${request.headers.host}${request.url}`,
        client_name: 'Agent',
        redirect_uris: ['https://agent.example/callback'],
      })(request, response),
  );
}

/** @param site - the origin of the site with documents */
export async function hold(node: Platform, site: string): Promise<Held> {
  count += 1;
  const email = `gus-${count}@school.example`;
  const person = {
    id: `gus ${count}`,
    name: 'Gus',
    email,
    password: 'p',
    permissions: [],
    roles: ['registrar'],
  };
  users.all.push(person);
  const browser = await signedIn(node, email, 'p', new Browser(node.reach));
  const app = await node.registerApp();
  const agent = await node.registerApp({ name: 'Agent', firstParty: true });
  const api = await node.registerService(['introspect_tokens' as 'view_schools']);
  const service = await node.registerService(['view_schools']);
  const scope = 'openid schools:read schools:write';
  const spent = (await authorize(node, app, { browser, parameters: { scope } })).get('code')!;
  const { body: tokens } = await exchangeCode(node, app, spent);
  const codes: string[] = [];
  for (const _node of BOTH_NODES) {
    const parameters = { scope: 'schools:read' };
    codes.push((await authorize(node, app, { browser, parameters })).get('code')!);
  }
  const ofAgent = await runCodeFlow(node, agent, {
    browser,
    parameters: { scope: 'openid tools:use', resource: MCP },
  });
  const id = `${site}/agent`;
  const unknown = await connect(node, id, { browser });
  const document = { ...AGENT, client_name: `Agent ${count}` };
  const self = await appOf(node, await registered(directly(node), document));
  const { parameters, verifier } = pkce();
  const callback = await authorize(node, self, {
    browser,
    parameters: { scope: 'schools:read', ...parameters },
  });
  const ofSelf = await exchangeCode(node, self, callback.get('code'), { code_verifier: verifier });
  const { create } = node.auth.personalTokens;
  const nightly = { userId: person.id, name: 'Nightly', lifetime: '30 days' } as const;
  return {
    person,
    browser,
    api,
    app: { ...app, tokens, spent, codes },
    unwanted: await Promise.all(
      BOTH_NODES.map(async () => node.auth.issueToken({ clientId: app.client.id, userId: person.id })),
    ),
    service: { ...service, token: await clientToken(node, service) },
    device: await holdDevice(node, browser),
    agent: { ...agent, tokens: ofAgent.body },
    personal: await create({ ...nightly, scopes: ['schools:read'] }),
    personalOfAgent: await create({ ...nightly, scopes: ['tools:use'], resource: MCP }),
    unknown: { id, tokens: unknown.body },
    registered: { ...self, tokens: ofSelf.body },
  };
}

async function holdDevice(node: Platform, browser: Browser): Promise<Held['device']> {
  const device = await registerDevice(node);
  const begin = async (): Promise<{ device_code: string; user_code: string }> =>
    beginOn(directly(node), device, { scope: 'schools:read' });
  const approve = async (): Promise<string> => {
    const { device_code: code, user_code: userCode } = await begin();
    await answer(node, browser, userCode);
    return code;
  };
  const { body } = await poll(directly(node), device, await approve());
  const approved = [await approve(), await approve()];
  const waiting = [(await begin()).device_code, (await begin()).device_code];
  return { ...device, tokens: body as unknown as Tokens, approved, waiting };
}
