import type { Context } from 'koa';
import type { FlowParts } from '../lib/contracts/bundled-pages.ts';
import type { InteractionFlow } from '../lib/contracts/index.ts';
import { setPageHeaders } from '../lib/http/headers.ts';
import type { Assets } from './assets.ts';
import { clockIn, countIn, noteDays } from './language.ts';
import type { Clock, Count } from './language.ts';
import type { PageSettings } from './options.ts';
import type { FeaturePage, Page, PageData, Viewer } from './page.ts';
import type { Link } from './navigation.ts';
import { plain, sentence } from './sentence.ts';
import type { Sentence } from './sentence.ts';
import type { Language, Texts } from './text.ts';
import type { Views } from './views.ts';

/**
 * A request for a page, with the functions and texts that all pages use, in its language.
 *
 * @typeParam Key - the names of the texts of a feature, which its pages have besides, as they have its views
 */
export interface PageRequest<Key extends string = never> {
  readonly ctx: Context;
  readonly flow: InteractionFlow;
  /** What the server is, as far as its own pages know it. */
  readonly server: FlowParts;
  /** Answers the request with a page. */
  readonly show: (page: [Key] extends [never] ? Page : FeaturePage) => void;
  readonly text: Texts & Readonly<Record<Key, string>>;
  readonly count: [Key] extends [never] ? Count : Count & Count<Key>;
  /** The brand's name. */
  readonly brand: string;
  /** The platform's home page. */
  readonly homePage: Link;
  readonly clock: Clock;
  /**
   * The label of a scope, a permission or a role in this language.
   *
   * @param resource - the URL of the scope's API. @default the default API
   */
  readonly nameOf: (kind: 'scope' | 'permission' | 'role', named: Named, resource?: string) => string;
}

/** A scope, permission or role of the host, with a description in the host's own language. */
interface Named {
  readonly name: string;
  readonly description: string;
  /** Whether it is a scope about who the user is, whose API is none that the user knows. */
  readonly aboutUser?: boolean;
}

/**
 * Makes a request for a page, in the language that is chosen for it.
 *
 * @param uiLocales - the languages of the authorization request. @default `ui_locales` of the request itself
 */
export type RequestFor = (ctx: Context, uiLocales?: readonly string[]) => PageRequest;

/** What the requests of all languages have in common. */
export interface PageParts {
  readonly assets: Assets;
  readonly flow: InteractionFlow;
  readonly settings: PageSettings;
  /** With those of the features. */
  readonly texts: ReadonlyMap<Language, Texts>;
  readonly views: Views;
}

/** Makes the requests for pages in one language. */
export function requestsIn(
  language: Language,
  { assets, flow, settings, texts, views }: PageParts,
): (ctx: Context) => PageRequest {
  const { home = '/', languages, logo, privacy, stylesheet, terms } = settings;
  const text = texts.get(language)!;
  const { parts: server } = flow;
  const brand = brandOf(settings, server);
  const urlOf = (file: string): string => server.basePath + assets.path(file);
  const stylesheets = (...files: readonly string[]): readonly string[] =>
    [...files, ...(stylesheet ? [stylesheet.name] : [])].map(urlOf);
  const loggedOut = stylesheets('theme.css', 'page.css');
  const signedIn = stylesheets('theme.css', 'page.css', 'signed-in.css');
  const frame = {
    language,
    text,
    brand,
    terms,
    privacy,
    logo: logo?.kind === 'remote' ? logo.url.href : urlOf(logo?.kind === 'image' ? logo.name : 'mark.svg'),
    neutralLogo: logo === undefined,
  };

  function show(ctx: Context, page: Page, hasDays: boolean): void {
    const { formsStayHere, problems = [], status = 200, ...shown } = page;
    const heading = plain(page.heading);
    const scripts = (page.scripts ?? []).map((file) => server.origin + urlOf(file));
    const data = {
      lead: [],
      done: undefined,
      viewer: undefined,
      wide: false,
      above: undefined,
      zone: hasDays ? text['page.zone'] : undefined,
      ...frame,
      ...shown,
      problems,
      scripts,
      stylesheets: page.viewer ? signedIn : loggedOut,
      title: problems.length > 0 ? `${text['page.errorTitle']} ${heading}` : heading,
      part: (name: string, own: object): string => views.part(name, { ...data, ...own }),
    } as PageData;
    const body = views.layout({ ...data, body: views.view(data) });
    const imageOrigins = logo?.kind === 'remote' ? [logo.url.origin] : [];
    setPageHeaders(ctx, { formsStayHere, imageOrigins, scripts });
    if (languages.length > 1) ctx.vary('Accept-Language');
    ctx.status = status;
    ctx.type = 'html';
    ctx.body = body;
  }

  const clock = clockIn(language);
  const shared = {
    flow,
    server,
    text,
    brand,
    homePage: { href: home, label: plain(sentence(text['page.home'], { brand })) },
    count: countIn(language, text),
    nameOf(
      kind: 'scope' | 'permission' | 'role',
      { aboutUser = false, description, name }: Named,
      resource?: string,
    ) {
      const isOfDefault = resource === undefined || aboutUser;
      const own = text[`${kind}.${isOfDefault ? name : `${resource} ${name}`}`];
      const key = `aboutUser.${name}`;
      return own ?? (aboutUser && Object.hasOwn(text, key) ? text[key as keyof typeof text]! : description);
    },
  };
  return (ctx) => {
    const noted = noteDays(clock);
    return { ...shared, ctx, clock: noted.clock, show: (page: Page) => show(ctx, page, noted.hasDays()) };
  };
}

/** The brand's name, which is the issuer's host when none was given. */
export function brandOf({ name }: Pick<PageSettings, 'name'>, { origin }: Pick<FlowParts, 'origin'>): string {
  return name ?? new URL(origin).host;
}

/** Asks for confirmation of an action, on a page of its own: there are no dialogs without a script. */
export function askToConfirm(
  { show, text }: PageRequest,
  {
    cancel,
    ...page
  }: {
    readonly heading: Sentence;
    readonly lead: Sentence;
    readonly action: string;
    readonly button: string;
    /** The URL of the page to return to. */
    readonly cancel: string;
    readonly viewer?: Viewer;
  },
): void {
  show({ view: 'confirm', wide: false, ...page, cancel: { href: cancel, label: text['page.cancel'] } });
}
