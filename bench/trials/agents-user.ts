import { Browser } from '../../test/harness/browser.ts';
import type { Announced } from '../../test/examples/running-example.ts';

/** The user of the agents, who signs in and consents with the pages of the example server. */
export class AgentUser {
  readonly #browser = new Browser();
  readonly #announced: Announced;

  constructor(announced: Announced) {
    this.#announced = announced;
  }

  /** Authorizes an agent and follows the redirect to it. Resolves to what the consent page says. */
  async authorize(url: string): Promise<string> {
    const { login, password } = this.#announced.users.find(({ permissions }) =>
      permissions.includes('edit_schools'),
    )!;
    const browser = this.#browser;
    let page = await browser.open(url);
    if (page.html.includes('name="password"')) {
      page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
    }
    const said = page.text;
    page = await browser.follow(await browser.submit(page, 'Authorize'));
    if (page.location === undefined) throw new Error(`the consent has led to: ${page.text}`);
    const answer = await fetch(page.location);
    if (!answer.ok) throw new Error(`the agent has answered its redirect with ${answer.status}`);
    await answer.body?.cancel();
    return said;
  }

  /** Disconnects the app of a name on the page of connected apps. */
  async disconnect(name: string): Promise<void> {
    const apps = await this.#browser.open(`${this.#announced.base_url}/account/apps`);
    for (const [, link = ''] of apps.html.matchAll(/href="([^"]+\/disconnect)"/g)) {
      const question = await this.#browser.open(new URL(link, apps.url));
      if (!question.heading.includes(name)) continue;
      await this.#browser.submit(question, 'Disconnect');
      return;
    }
    throw new Error(`${name} is not among the connected apps: ${apps.text}`);
  }
}
