import type { Context } from 'koa';
import type { Interaction } from '../lib/contracts/index.ts';
import { checkLogin, showLogin } from './login-form.ts';
import type { LoginForm } from './login-form.ts';
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
    showPage(ctx, interaction, site, { login: interaction.loginHint ?? '', problems: [] });
  return next;
}

/** Checks what was typed. Resolves to where to go, or shows the page again with 422. */
export async function submitLogin(
  ctx: Context,
  interaction: Interaction,
  site: Site,
): Promise<string | undefined> {
  const checked = await checkLogin(ctx, site);
  if ('user' in checked) return site.flow.login(ctx, interaction, checked.user);
  showPage(ctx, interaction, site, checked);
  return undefined;
}

function showPage(ctx: Context, { action, client }: Interaction, site: Site, form: LoginForm): void {
  showLogin(ctx, site, {
    ...form,
    action: `${action}/login`,
    lead: sentence(site.text['login.lead'], { client: client.name }),
  });
}
