import type { Context } from 'koa';
import type { Interaction } from '../lib/contracts.ts';
import { readForm } from '../lib/http/body.ts';
import type { Problem } from './page.ts';
import { sentence } from './sentence.ts';
import type { Site } from './site.ts';

/** Goes on without the login page when the host knows who this is; else shows it. Resolves to where to go, if anywhere. */
export async function askForLogin(
  ctx: Context,
  interaction: Interaction,
  site: Site,
): Promise<string | undefined> {
  const next = await site.flow.skipLogin(ctx, interaction);
  if (next === undefined)
    showLogin(ctx, interaction, site, { login: interaction.loginHint ?? '', problems: [] });
  return next;
}

/** Checks what was typed. Resolves to where to go, or shows the page again with 422. */
export async function submitLogin(
  ctx: Context,
  interaction: Interaction,
  site: Site,
): Promise<string | undefined> {
  const { flow, text } = site;
  const { login: typed = '', password = '' } = await readForm(ctx);
  // Pasted addresses bring blanks along; in a password they may be meant.
  const login = typed.trim();

  const problems: Problem[] = [];
  if (login === '') problems.push({ field: 'login', message: text['login.loginMissing'] });
  if (password === '') problems.push({ field: 'password', message: text['login.passwordMissing'] });
  if (problems.length > 0) {
    showLogin(ctx, interaction, site, { login, problems });
    return undefined;
  }

  const user = await flow.authenticate(ctx, login, password);
  if (user) return flow.login(ctx, interaction, user);
  const refusal = { field: 'login', message: text['login.refused'] };
  showLogin(ctx, interaction, site, { login, problems: [refusal], refused: true });
  return undefined;
}

function showLogin(
  ctx: Context,
  interaction: Interaction,
  { show, text }: Site,
  form: { login: string; problems: readonly Problem[]; refused?: boolean },
): void {
  show(ctx, {
    view: 'login',
    status: form.problems.length > 0 ? 422 : 200,
    heading: sentence(text['login.heading']),
    lead: sentence(text['login.lead'], { client: interaction.client.name }),
    formsStayHere: false,
    action: `${interaction.action}/login`,
    refused: false,
    ...form,
  });
}
