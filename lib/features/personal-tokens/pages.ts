import { randomUUID } from 'node:crypto';

import type { Moment } from '../../../interactions/language.ts';
import { isElsewhere } from '../../../interactions/login.ts';
import { pathParameter, queryText, seeOther, withQuery } from '../../../interactions/navigation.ts';
import type { Link } from '../../../interactions/navigation.ts';
import type { FieldProblem, ScopeChoice } from '../../../interactions/page.ts';
import { askToConfirm } from '../../../interactions/page-request.ts';
import type { PageRequest, Step } from '../../../interactions/page-request.ts';
import { plain, printable, sentence } from '../../../interactions/sentence.ts';
import { askToSignInAgain, describeViewer, signedIn } from '../../../interactions/viewer.ts';
import { DAY } from '../../contracts/duration.ts';
import type { User } from '../../contracts/index.ts';
import { readForm, readOnce } from '../../http/form.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { PersonalTokenInvalidError } from './errors.ts';
import { de, en } from './texts.ts';
import type { PersonalTokenText } from './texts.ts';
import type { OwnPersonalTokens, PersonalToken } from './types.ts';
import { views } from './views.ts';

/** The pages on which users list, create and end their tokens. */
export function personalTokenPages(
  path: string,
  ownTokensOf: (ctx: PageRequest['ctx'], user: User) => Promise<OwnPersonalTokens>,
): FeaturePages<PersonalTokenText> {
  return {
    views,
    texts: { en, de },
    link: async () => ({ path, text: 'page.tokens' }),
    addRoutes(router, basePath) {
      const home = basePath + path;
      const run = (
        step: (request: TokenRequest) => Promise<void>,
      ): Step<PersonalTokenText, PersonalTokensView> =>
        signedIn<PersonalTokenText, PersonalTokensView>(async (request, user) =>
          step({ ...request, user, home, tokens: await ownTokensOf(request.ctx, user) }),
        );
      router
        .page(path, run(listTokens))
        .page(`${path}/new`, run(askForToken))
        .form(`${path}/new`, run(createToken))
        .page(`${path}/:id/end`, run(askToEndToken))
        .form(`${path}/:id/end`, run(endToken));
    },
  };
}

/** The data of the views of personal access tokens. */
export type PersonalTokensView =
  | {
      readonly view: 'personal-tokens/list';
      readonly tokens: readonly PersonalTokenRow[];
      /** Why the user can create none; `undefined`: the user can. */
      readonly whyNone: string | undefined;
      /** The forms for a new one, one for each API. */
      readonly create: readonly Link[];
    }
  | {
      readonly view: 'personal-tokens/new';
      readonly action: string;
      readonly once: string;
      /** The API, a hidden field; empty for the default one. */
      readonly api: string;
      readonly form: { readonly name: string; readonly lifetime: string };
      readonly lifetimes: readonly { readonly value: string; readonly label: string }[];
      /** The scopes or permissions to choose from. */
      readonly access: readonly ScopeChoice[];
      readonly cancel: string;
    }
  | { readonly view: 'personal-tokens/created'; readonly value: string; readonly back: Link };

/** A personal access token of the user. */
export interface PersonalTokenRow {
  readonly name: string;
  /** The name of its API; empty when there is only one. */
  readonly resource: string;
  /** The labels of its scopes or permissions. */
  readonly access: readonly string[];
  readonly created: Moment;
  readonly expires: Moment;
  readonly lastUsed: Moment | undefined;
  /** The IP address of the last use, or empty. */
  readonly lastUsedFrom: string;
  readonly end: string;
}

/** A request of a signed-in user. */
interface TokenRequest extends PageRequest<PersonalTokenText, PersonalTokensView> {
  readonly user: User;
  readonly tokens: OwnPersonalTokens;
  /** URL path of the list of tokens. */
  readonly home: string;
}

type Api = OwnPersonalTokens['apis'][number];

/** Lists the tokens of a user, with the links to create another one for each API. */
async function listTokens(request: TokenRequest): Promise<void> {
  const { brand, count, ctx, home, show, text, tokens, user } = request;
  const listed = await tokens.list();
  const done = DONE.get(queryText(ctx, 'done'));
  const several = tokens.apis.length > 1;
  show({
    view: 'personal-tokens/list',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['page.tokens']),
    lead:
      listed.length > 0
        ? count('tokens.lead', listed.length, { brand })
        : sentence(text['tokens.none'], { brand }),
    done: done && sentence(text[done]),
    tokens: listed.map((token) => describe(token, request)),
    whyNone: whyNone(listed.length, request),
    create: tokens.apis.map((api) => ({
      href: withQuery(`${home}/new`, { api: api.resource ?? '' }),
      label: several
        ? plain(sentence(text['tokens.createFor'], { name: nameOf(api, request) }))
        : text['tokens.create'],
    })),
  });
}

const DONE: ReadonlyMap<string, PersonalTokenText> = new Map<string, PersonalTokenText>([
  ['ended', 'tokens.done.ended'],
  ['created', 'tokens.done.createdBefore'],
]);

/** Why the user cannot create one, in words; `undefined`: the user can. */
function whyNone(listed: number, { count, text, tokens }: TokenRequest): string | undefined {
  if (!tokens.mayUse) return text['tokens.askAdministrator'];
  return listed >= tokens.perUser ? plain(count('tokens.tooMany', tokens.perUser)) : undefined;
}

function nameOf(api: Api, { brand }: Pick<TokenRequest, 'brand'>): string {
  return api.resource === undefined ? brand : api.name;
}

function describe(token: PersonalToken, request: TokenRequest): PersonalTokenRow {
  const { clock, home, nameOf: labelOf, tokens } = request;
  const { createdAt, expiresAt, id, lastUsedAt, lastUsedFrom, name, resource } = token;
  const api = tokens.apis.find((one) => one.resource === resource);
  const kind = token.scopes ? 'scope' : 'permission';
  const labels = (token.scopes ?? token.permissions ?? []).map((chosen) => {
    const description = api?.choices.find((choice) => choice.name === chosen)?.description ?? chosen;
    return labelOf(kind, { name: chosen, description }, kind === 'scope' ? resource : undefined);
  });
  return {
    name: printable(name),
    resource:
      resource === undefined && tokens.apis.length === 1 ? '' : api ? nameOf(api, request) : resource!,
    access: labels,
    created: clock.day(createdAt),
    expires: clock.day(expiresAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.minute(lastUsedAt),
    lastUsedFrom: lastUsedFrom ?? '',
    end: `${home}/${encodeURIComponent(id)}/end`,
  };
}

/** The form of a token; a user who has not given the password for some minutes is asked for it first. */
async function askForToken(request: TokenRequest): Promise<void> {
  const { ctx, flow, home, text, tokens, user } = request;
  const api = findApi(queryText(ctx, 'api'), tokens);
  if (!api || !tokens.mayUse) return seeOther(ctx, home);
  if (await tokens.isLoginFresh()) {
    return showForm(request, api, { name: '', lifetime: '30', chosen: [] }, { once: randomUUID() });
  }
  const loginUrl = flow.loginUrl(withQuery(`${home}/new`, { api: api.resource ?? '' }), 'again');
  if (!isElsewhere(loginUrl, request)) return seeOther(ctx, loginUrl);
  // Not redirected: a page of the host that does not ask for the password would send the browser back at once.
  return request.show({
    view: 'notice',
    viewer: await describeViewer(request, user),
    heading: sentence(text['tokens.loginHeading']),
    lead: sentence(text['tokens.loginLead']),
    details: [],
    next: [
      { href: loginUrl, label: text['tokens.login'] },
      { href: home, label: text['page.cancel'] },
    ],
  });
}

function findApi(resource: string, { apis }: OwnPersonalTokens): Api | undefined {
  return apis.find((api) => (api.resource ?? '') === resource);
}

/** The form as it was posted. */
interface TokenForm {
  readonly name: string;
  /** In days. */
  readonly lifetime: string;
  readonly chosen: readonly string[];
}

/** Creates a token. Only the response shows its value. The same form sent again creates no second one. */
async function createToken(request: TokenRequest): Promise<void> {
  const { ctx, home, text, tokens, user } = request;
  const posted = await readForm(ctx);
  const api = findApi(posted['api'] ?? '', tokens);
  if (!api) return seeOther(ctx, home);
  if (!(await tokens.isLoginFresh())) {
    return askToSignInAgain(request, withQuery(`${home}/new`, { api: api.resource ?? '' }), 'again');
  }
  const once = readOnce(posted);
  const lifetimes = lifetimesFor(tokens);
  const form = {
    name: (posted['name'] ?? '').trim(),
    lifetime: posted['lifetime'] ?? '',
    chosen: api.choices.flatMap(({ name }, index) => (posted[`access${index}`] === name ? [name] : [])),
  };
  if (!lifetimes.some((days) => String(days) === form.lifetime)) {
    const problems = [{ field: 'lifetime', message: text['tokens.lifetimeProblem'] }];
    return showForm(request, api, form, { once, status: 422, problems });
  }
  const { resource } = api;
  try {
    const created = await tokens.create({ ...form, resource, lifetime: Number(form.lifetime) * DAY }, once);
    if (!created) return seeOther(ctx, `${home}?done=created`);
    return request.show({
      view: 'personal-tokens/created',
      viewer: await describeViewer(request, user),
      heading: sentence(text['tokens.createdHeading']),
      lead: sentence(text['tokens.createdLead']),
      value: created.value,
      back: { href: home, label: text['tokens.back'] },
      scripts: ['copy.js'],
    });
  } catch (error) {
    if (!(error instanceof PersonalTokenInvalidError)) throw error;
    return showForm(request, api, form, { once, status: 422, problems: problemsOf(error, request) });
  }
}

function problemsOf(
  { fields }: PersonalTokenInvalidError,
  { count, text, tokens }: TokenRequest,
): readonly FieldProblem[] {
  return fields.map(({ code, field, message }): FieldProblem => {
    if (field === 'name') return { field, message: text['tokens.nameProblem'] };
    if (code === 'scope_missing') return { field: 'access0', message: text['tokens.accessProblem'] };
    if (code === 'too_many_tokens') return { message: plain(count('tokens.tooMany', tokens.perUser)) };
    return { message };
  });
}

/** The lifetimes to choose from, in days. */
function lifetimesFor({ maxLifetime }: OwnPersonalTokens): readonly number[] {
  const most = Math.floor(maxLifetime / DAY);
  return [7, 30, 90, 180, 365].filter((days) => days < most).concat(most);
}

async function showForm(
  request: TokenRequest,
  api: Api,
  form: TokenForm,
  page: { readonly once: string; readonly status?: number; readonly problems?: readonly FieldProblem[] },
): Promise<void> {
  const { brand, count, home, nameOf: labelOf, text, tokens, user } = request;
  const resource = api.kind === 'scope' ? api.resource : undefined;
  const lifetimes = lifetimesFor(tokens);
  request.show({
    view: 'personal-tokens/new',
    wide: true,
    viewer: await describeViewer(request, user),
    heading: sentence(text['tokens.create']),
    lead: sentence(text['tokens.newLead'], { brand: nameOf(api, { brand }) }),
    above: { href: home, label: text['page.tokens'] },
    action: `${home}/new`,
    api: api.resource ?? '',
    form: {
      name: form.name,
      lifetime: lifetimes.some((days) => String(days) === form.lifetime)
        ? form.lifetime
        : String(lifetimes.at(-1)),
    },
    lifetimes: lifetimes.map((days) => ({ value: String(days), label: plain(count('tokens.days', days)) })),
    access: api.choices.map((choice, index) => ({
      field: `access${index}`,
      name: choice.name,
      label: labelOf(api.kind, choice, resource),
      isChecked: form.chosen.includes(choice.name),
    })),
    cancel: home,
    scripts: ['send-once.js'],
    ...page,
  });
}

/** Asks for confirmation before a token ends. For one that has ended, redirects to the list. */
async function askToEndToken(request: TokenRequest): Promise<void> {
  const { ctx, home, text, tokens, user } = request;
  const id = pathParameter(ctx, 'id');
  const token = (await tokens.list()).find((one) => one.id === id);
  if (!token) return seeOther(ctx, home);
  return askToConfirm(request, {
    viewer: await describeViewer(request, user),
    heading: sentence(text['tokens.endHeading'], { name: printable(token.name) }),
    lead: sentence(text['tokens.endLead']),
    action: `${home}/${encodeURIComponent(id)}/end`,
    button: text['tokens.end'],
    cancel: home,
  });
}

/** Ends a token. It succeeds also when it has ended already. */
async function endToken({ ctx, home, tokens }: TokenRequest): Promise<void> {
  await tokens.end(pathParameter(ctx, 'id'));
  seeOther(ctx, `${home}?done=ended`);
}
