import type { InteractionFlow } from '../lib/contracts/index.ts';
import { ConfigError } from '../lib/errors.ts';
import { checkKnownOptions } from '../lib/options/known-options.ts';
import type { Asset } from './assets.ts';
import { resolveLogo, resolveStylesheet } from './brand.ts';
import type { Logo } from './brand.ts';
import { resolveLanguages, resolveTexts } from './text.ts';
import type { Language, OwnTexts, Texts } from './text.ts';
import { resolveColours } from './theme.ts';
import type { Colours } from './theme.ts';
import type { OwnViews } from './views.ts';

/** The brand of the pages: your name, your logo, your colours. */
export interface Brand {
  /** The name of the platform, 1 to 60 characters. Shown in titles and sentences. */
  readonly name: string;
  /**
   * An SVG, PNG, JPEG or WebP image of at most 256 KiB: an absolute path, a `file:` URL, a `data:` URL, or an `https:` URL
   * that browsers load it from. Files are read once, at start. The dark page shows the same logo; an SVG can change its colours
   * by `prefers-color-scheme`.
   *
   * @default a neutral mark, with the name beside it
   */
  readonly logo?: string | URL | undefined;
  /**
   * The colour of buttons and links, as `#rrggbb`. It is used with white text and on a white page, so its contrast with white
   * must be at least 4.5:1 (WCAG 2.2, 1.4.3).
   *
   * @default '#0b57d0'
   */
  readonly accent?: string | undefined;
  /**
   * The colour of buttons and links on the dark page, used with nearly black text: its contrast with `#131316` must be at least
   * 4.5:1 (WCAG 2.2, 1.4.3).
   *
   * @default `accent`, lightened
   */
  readonly accentDark?: string | undefined;
  /**
   * Your stylesheet, loaded after the bundled ones: an absolute path or a `file:` URL. It is read once, at start. Pages load
   * images from this server only, and no fonts. The contrast of its colours is not checked.
   */
  readonly stylesheet?: string | URL | undefined;
  /** Your terms of use: an `https:` URL, or a path such as `/terms`. */
  readonly terms?: string | undefined;
  /** Your privacy policy: an `https:` URL, or a path such as `/privacy`. */
  readonly privacy?: string | undefined;
}

/** Options of `pages()`. */
export interface PagesOptions {
  /** Your name, your logo, your colours. @default the issuer's host as the name, a neutral mark, a blue accent */
  readonly brand?: Brand | undefined;
  /**
   * The language of the pages, or several, the most preferred first. With several, the app's `ui_locales` decides (OpenID
   * Connect Core 1.0 section 3.1.2.1), else the browser's `Accept-Language`, else the first one is used.
   *
   * @default 'en'
   */
  readonly language?: Language | readonly Language[] | undefined;
  /**
   * Your own sentences, which replace the bundled ones, by name; with several languages, by language. Also labels of your
   * scopes, permissions and roles that differ from their descriptions, such as `'scope.schools:read'`,
   * `'permission.view_schools'` and `'role.registrar'`.
   */
  readonly text?: OwnTexts | undefined;
  /**
   * Your own views, which replace the bundled ones: a folder, as an absolute path or a `file:` URL, with EJS files named like
   * the bundled ones in `interactions/views`, such as `login.ejs`; or an object with a function per view. Both receive
   * {@link PageData} as `page` and return the HTML below the heading; `layout` returns the document around it.
   *
   * Files are compiled once, at start. In EJS `<%=` escapes and `<%-` does not; a function has to escape its values itself, see
   * {@link escapeHtml}. The Content-Security-Policy does not change: browsers load no scripts, styles and images of other
   * servers, and no inline ones.
   */
  readonly views?: string | URL | OwnViews | undefined;
}

/** The options, checked and complete. */
export interface Settings {
  /** `undefined`: the issuer's host. */
  readonly name: string | undefined;
  readonly logo: Logo;
  readonly colours: Colours;
  readonly terms: string | undefined;
  readonly privacy: string | undefined;
  readonly stylesheet: Asset | undefined;
  readonly languages: readonly [Language, ...Language[]];
  readonly texts: ReadonlyMap<Language, Texts>;
}

/** Checks the options once, at start. Throws `ConfigError` for the first mistake. */
export function resolveSettings(options: PagesOptions): Settings {
  checkNotFlow(options);
  const { brand, language, text }: PagesOptions = checkKnownOptions(
    options,
    { brand: true, language: true, text: true, views: true },
    'interactions',
  );
  if (brand !== undefined) checkKnownOptions(brand, BRAND, 'interactions.brand');
  const languages = resolveLanguages(language);
  return Object.freeze({
    name: brand && checkName(brand.name),
    logo: resolveLogo(brand?.logo),
    colours: resolveColours(brand?.accent, brand?.accentDark),
    terms: checkLink('terms', brand?.terms),
    privacy: checkLink('privacy', brand?.privacy),
    stylesheet: resolveStylesheet(brand?.stylesheet),
    languages,
    texts: resolveTexts(languages, text),
  });
}

const BRAND = {
  name: true,
  logo: true,
  accent: true,
  accentDark: true,
  stylesheet: true,
  terms: true,
  privacy: true,
} as const;

/** With `interactions: pages`, the server calls `pages` itself, with what it passes to the function that `pages()` returns. */
function checkNotFlow(options: PagesOptions & Partial<InteractionFlow>): void {
  if (typeof options?.authenticate === 'function') {
    throw new ConfigError('interactions', 'pass the result of pages(), not the function pages itself');
  }
}

function checkName(name: unknown): string {
  const isName = typeof name === 'string' && name.trim() !== '' && name.length <= 60 && !/\p{Cc}/u.test(name);
  if (isName) return name;
  throw new ConfigError('interactions.brand.name', 'must be the name of the platform, 1 to 60 characters.');
}

function checkLink(option: 'terms' | 'privacy', link: string | undefined): string | undefined {
  if (link === undefined) return undefined;
  // A URL that begins with `//` or `/\` leads to another host.
  if (/^\/(?![/\\])/.test(link) || URL.parse(link)?.protocol === 'https:') return link;
  throw new ConfigError(
    `interactions.brand.${option}`,
    'must be an https: URL, or a path that begins with one slash.',
  );
}
