import { Browser } from '../../test/harness/browser.ts';
import type { Page } from '../../test/harness/browser.ts';
import { pkce } from '../../test/harness/pkce.ts';
import type { Announced } from '../../test/examples/running-example.ts';

/** Authorizes an agent to do all that it asks for. */
export async function authorizeAll(browser: Browser, page: Page): Promise<Page> {
  const all = page.answersOf('Authorize').filter(({ label }) => label === 'All');
  return browser.submit(page, 'Authorize', Object.fromEntries(all.map(({ name, value }) => [name, value])));
}

/** The user of the agents, who signs in and consents with the pages of the example server. */
export class AgentUser {
  readonly #browser = new Browser();
  readonly #announced: Announced;

  constructor(announced: Announced) {
    this.#announced = announced;
  }

  /** Authorizes an agent and follows the redirect to it. Resolves to what the consent page says. */
  async authorize(url: string): Promise<string> {
    const { said, target } = await this.#consent(url);
    const answer = await fetch(target);
    if (!answer.ok) throw new Error(`the agent has answered its redirect with ${answer.status}`);
    await answer.body?.cancel();
    return said;
  }

  /** Authorizes an agent that is not running. Resolves to the code of its redirect. */
  async authorizeAt({
    client,
    redirectUri,
    resource,
  }: {
    readonly client: Readonly<Record<string, unknown>>;
    readonly redirectUri: string;
    readonly resource: string;
  }): Promise<string | null> {
    const url = new URL('/oauth/authorize', this.#announced.base_url);
    url.search = new URLSearchParams({
      client_id: String(client['client_id']),
      redirect_uri: redirectUri,
      response_type: 'code',
      resource,
      ...pkce().parameters,
    }).toString();
    const { target } = await this.#consent(url.href);
    return target.href.startsWith(redirectUri) ? target.searchParams.get('code') : null;
  }

  async #consent(url: string): Promise<{ readonly said: string; readonly target: URL }> {
    const { login, password } = this.#announced.users.find(({ permissions }) =>
      permissions.includes('edit_schools'),
    )!;
    const browser = this.#browser;
    let page = await browser.open(url);
    if (page.html.includes('name="password"')) {
      page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
    }
    const said = page.text;
    if (page.location === undefined) page = await browser.follow(await authorizeAll(browser, page));
    if (page.location === undefined) throw new Error(`the consent has led to: ${page.text}`);
    return { said, target: page.location };
  }

  /** Disconnects the app of a name on the page of connected apps. */
  async disconnect(name: string): Promise<void> {
    const apps = await this.#browser.open(`${this.#announced.base_url}/account/apps`);
    for (const [, link = ''] of apps.html.matchAll(/href="([^"]+apps\/[^/"]+\/revoke)"/g)) {
      const question = await this.#browser.open(new URL(link, apps.url));
      if (!question.heading.includes(name)) continue;
      await this.#browser.submit(question, 'Disconnect');
      return;
    }
    throw new Error(`${name} is not among the connected apps: ${apps.text}`);
  }
}
