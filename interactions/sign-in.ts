import type { Context } from 'koa';
import { checkLogin, showLogin } from './login-form.ts';
import type { LoginForm } from './login-form.ts';
import { seeOther } from './see-other.ts';
import { sentence } from './sentence.ts';
import type { Site } from './site.ts';

/** The login page outside an authorization, for the pages that people have here. Whoever is signed in goes on. */
export async function askToSignIn(ctx: Context, site: Site): Promise<void> {
  const { flow } = site;
  const goOn = returnTo(ctx, site);
  const loginUrl = flow.loginUrl(goOn);
  if (await flow.currentUser(ctx)) seeOther(ctx, goOn);
  else if (isElsewhere(loginUrl, site)) seeOther(ctx, loginUrl);
  else showPage(ctx, site, { login: '', problems: [] });
}

/** Checks what was typed, signs in, and goes on; or shows the page again with 422. */
export async function submitSignIn(ctx: Context, site: Site): Promise<void> {
  const checked = await checkLogin(ctx, site);
  if ('user' in checked) {
    await site.flow.signIn(ctx, checked.user);
    seeOther(ctx, returnTo(ctx, site));
  } else {
    showPage(ctx, site, checked);
  }
}

function showPage(ctx: Context, site: Site, form: LoginForm): void {
  const { brand, flow, text } = site;
  showLogin(ctx, site, {
    ...form,
    action: flow.basePath + LOGIN + ctx.search,
    lead: sentence(text['login.leadBrand'], { brand }),
  });
}

const LOGIN = '/oauth/login';

/** The path to go on to: that of `?return_to=` if it is of this server, else the person's own page. */
function returnTo(ctx: Context, { flow }: Site): string {
  const wanted = ctx.query['return_to'];
  const path = typeof wanted === 'string' ? flow.pathHere(wanted) : undefined;
  return path ?? (flow.accountPath === undefined ? '/' : flow.basePath + flow.accountPath);
}

/** Whether people sign in on a page of the host. */
function isElsewhere(loginUrl: string, { flow }: Site): boolean {
  const { origin, pathname } = new URL(loginUrl, flow.origin);
  return origin !== flow.origin || pathname !== flow.basePath + LOGIN;
}
