import type { FieldProblem } from '../../../interactions/page.ts';
import { askToConfirm } from '../../../interactions/page-request.ts';
import type { PageRequest } from '../../../interactions/page-request.ts';
import { plain, printable, sentence } from '../../../interactions/sentence.ts';
import { describeViewer } from '../../../interactions/viewer.ts';
import type { FeaturePages } from '../../../interactions/feature-pages.ts';
import { callWithToken } from '../../first-call/first-call.ts';
import { accessField, createTokenPage, newTokenUrl, revokeUrl } from './page.ts';
import type { Api, TokenPage, TokenPageParts } from './page.ts';
import { de, en } from './texts.ts';
import type { PersonalTokenText } from './texts.ts';
import type { PersonalToken } from './types.ts';
import { views } from './views.ts';

/** The pages on which users list, create and revoke their tokens. */
export function personalTokenPages(parts: TokenPageParts): FeaturePages<PersonalTokenText> {
  const { path } = parts;
  return {
    views,
    texts: { en, de },
    link: async () => ({ path, text: 'page.tokens' }),
    addRoutes(router) {
      const forms = [`${path}/new`, `${path}/:id/revoke`];
      router.answered<TokenPage, PersonalTokenText>(
        { get: [path, ...forms], post: forms },
        createTokenPage(parts),
        showTokenPage,
      );
    },
  };
}

type TokenRequest = PageRequest<PersonalTokenText>;

type PageOf<Kind extends TokenPage['kind']> = Extract<TokenPage, { kind: Kind }>;

async function showTokenPage(asked: TokenRequest, page: TokenPage): Promise<void> {
  const viewer = await describeViewer(asked, page.user);
  const request: TokenRequest = { ...asked, show: (shown) => asked.show({ viewer, ...shown }) };
  switch (page.kind) {
    case 'list':
      return showList(request, page);
    case 'login':
      return askToSignIn(request, page);
    case 'form':
      return showForm(request, page);
    case 'created':
      return showCreated(request, page);
    case 'revoke':
      return askToRevoke(request, page);
    default:
      return page satisfies never;
  }
}

/** Lists the tokens of a user, with the link to create another one. */
function showList(request: TokenRequest, page: PageOf<'list'>): void {
  const { brand, count, show, text } = request;
  const { home, tokens } = page;
  const done = DONE.get(page.done);
  show({
    view: 'personal-tokens/list',
    wide: true,
    heading: sentence(text['page.tokens']),
    lead:
      tokens.length > 0
        ? count('tokens.lead', tokens.length, { brand })
        : sentence(text['tokens.none'], { brand }),
    done: done && sentence(text[done]),
    tokens: tokens.map((token) => describe(token, request, page)),
    whyNone: whyNone(page, request),
    create: newTokenUrl(home),
  });
}

const DONE: ReadonlyMap<string, PersonalTokenText> = new Map<string, PersonalTokenText>([
  ['revoked', 'tokens.done.revoked'],
  ['created', 'tokens.done.createdBefore'],
]);

/** Why the user cannot create a token, in words; `undefined` when the user can. */
function whyNone({ own, tokens }: PageOf<'list'>, { count, text }: TokenRequest): string | undefined {
  if (!own.mayUse) return text['tokens.askAdministrator'];
  return tokens.length >= own.perUser ? plain(count('tokens.tooMany', own.perUser)) : undefined;
}

function nameOf(api: Api, { brand }: Pick<TokenRequest, 'brand'>): string {
  return api.resource === undefined ? brand : api.name;
}

function describe(token: PersonalToken, request: TokenRequest, { home, own: { apis } }: PageOf<'list'>) {
  const { clock, nameOf: labelOf } = request;
  const { createdAt, expiresAt, lastUsedAt, lastUsedFrom, name, resource } = token;
  const api = apis.find((one) => one.resource === resource);
  const kind = token.scopes ? 'scope' : 'permission';
  const labels = (token.scopes ?? token.permissions ?? []).map((chosen) => {
    const description = api?.choices.find((choice) => choice.name === chosen)?.description ?? chosen;
    return labelOf(kind, { name: chosen, description }, kind === 'scope' ? resource : undefined);
  });
  return {
    name: printable(name),
    resource: resource === undefined && apis.length === 1 ? '' : api ? nameOf(api, request) : resource!,
    access: labels,
    created: clock.day(createdAt),
    expires: clock.day(expiresAt),
    lastUsed: lastUsedAt === undefined ? undefined : clock.minute(lastUsedAt),
    lastUsedFrom: lastUsedFrom ?? '',
    revoke: revokeUrl(home, token),
  };
}

/** Asks a user who has not given the password for some minutes to sign in at the host's page. */
function askToSignIn({ show, text }: TokenRequest, { home, loginUrl }: PageOf<'login'>): void {
  show({
    view: 'notice',
    heading: sentence(text['tokens.loginHeading']),
    lead: sentence(text['tokens.loginLead']),
    details: [],
    next: [
      { href: loginUrl, label: text['tokens.login'] },
      { href: home, label: text['page.cancel'] },
    ],
  });
}

function showForm(request: TokenRequest, page: PageOf<'form'>): void {
  const { brand, count, nameOf: labelOf, show, text } = request;
  const { form, home, lifetimes, once, own, status } = page;
  show({
    view: 'personal-tokens/new',
    status,
    problems: problemsOf(page, request),
    wide: true,
    heading: sentence(text['tokens.create']),
    lead: sentence(text['tokens.newLead'], { brand }),
    above: { href: home, label: text['page.tokens'] },
    action: newTokenUrl(home),
    once,
    form: {
      name: form.name,
      lifetime: lifetimes.includes(form.lifetime) ? form.lifetime : lifetimes.at(-1)!,
    },
    lifetimes: lifetimes.map((days) => ({
      value: days,
      label: plain(count('tokens.days', Number(days))),
    })),
    apis: own.apis.map((api, at) => ({
      value: api.resource ?? '',
      name: nameOf(api, request),
      checked: api === form.api,
      access: api.choices.map((choice, index) => ({
        field: accessField(at, index),
        name: choice.name,
        label: labelOf(api.kind, choice, api.kind === 'scope' ? api.resource : undefined),
        checked: api === form.api && form.chosen.includes(choice.name),
        details: [],
        isOpen: true,
      })),
    })),
    cancel: home,
    scripts: ['send-once.js'],
  });
}

function problemsOf(
  { form, own, problems }: PageOf<'form'>,
  { count, text }: TokenRequest,
): readonly FieldProblem[] {
  return problems.map(({ code, field, message }): FieldProblem => {
    if (field === 'name') return { field, message: text['tokens.nameProblem'] };
    if (field === 'lifetime') return { field, message: text['tokens.lifetimeProblem'] };
    if (code === 'scope_missing')
      return { field: accessField(own.apis.indexOf(form.api), 0), message: text['tokens.accessProblem'] };
    if (code === 'too_many_tokens') return { message: plain(count('tokens.tooMany', own.perUser)) };
    return { message };
  });
}

/** Shows the value of a new token, once. */
function showCreated(request: TokenRequest, { home, own: { apis }, token }: PageOf<'created'>): void {
  const { clock, server, show, text } = request;
  const { expiresAt, name, resource, value } = token;
  const apiUrl = server.apis.get(resource ?? server.origin + server.basePath);
  const url = apiUrl === undefined ? resource : `${apiUrl}/identity`;
  show({
    view: 'personal-tokens/created',
    wide: true,
    above: { href: home, label: text['page.tokens'] },
    heading: sentence(text['tokens.createdHeading']),
    lead: sentence(text['tokens.createdLead']),
    value,
    facts: [
      { label: text['tokens.name'], value: printable(name) },
      ...(apis.length > 1
        ? [
            {
              label: text['tokens.api'],
              value: nameOf(
                apis.find((api) => api.resource === resource)!,
                request,
              ),
            },
          ]
        : []),
      { label: text['tokens.expires'], moment: clock.day(expiresAt) },
    ],
    call: url && callWithToken(url),
    back: { href: home, label: text['tokens.back'] },
    scripts: ['copy.js'],
  });
}

/** Asks for confirmation before a token ends. */
function askToRevoke(request: TokenRequest, { action, home, token }: PageOf<'revoke'>): void {
  const { text } = request;
  askToConfirm(request, {
    heading: sentence(text['tokens.revokeHeading'], { name: printable(token.name) }),
    lead: sentence(text['tokens.revokeLead']),
    action,
    button: text['tokens.revoke'],
    cancel: home,
  });
}
