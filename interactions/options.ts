import { ConfigError } from '../lib/errors.ts';
import type { Asset } from './assets.ts';
import { resolveLogo, resolveStylesheet } from './brand.ts';
import type { Logo } from './brand.ts';
import { resolveLanguages, resolveTexts } from './text.ts';
import type { Language, OwnTexts, Texts } from './text.ts';
import { resolveColours } from './theme.ts';
import type { Colours } from './theme.ts';
import type { OwnViews } from './views.ts';

/** How the pages look: your name, your logo, your colour. */
export interface Brand {
  /** What people call the platform, at most 60 characters. Shown in titles and sentences. */
  readonly name: string;
  /**
   * An SVG, PNG, JPEG or WebP image of at most 256 KiB: an absolute path, a `file:` URL, a `data:` URL, or an `https:` URL
   * that browsers load it from. Files are read once, at start. It stands on the dark page too: an SVG can change its
   * colours by `prefers-color-scheme`.
   *
   * @default a neutral mark, with the name beside it
   */
  readonly logo?: string | URL | undefined;
  /**
   * The colour of buttons and links, as `#rrggbb`. It has white text on it and stands on a white page, so its contrast
   * with white must be at least 4.5:1.
   *
   * @default '#0b57d0'
   */
  readonly accent?: string | undefined;
  /**
   * The same for the dark page, where the text on it is nearly black: its contrast with `#131316` must be at least 4.5:1.
   *
   * @default `accent`, lightened
   */
  readonly accentDark?: string | undefined;
  /**
   * A stylesheet of yours, after the bundled ones: an absolute path or a `file:` URL. It is read once, at start. Pages load
   * images from this server only, and no fonts. Nobody checks its colours.
   */
  readonly stylesheet?: string | URL | undefined;
  /** Your terms of use: an `https:` URL, or a path such as `/terms`. */
  readonly terms?: string | undefined;
  /** Your privacy policy: an `https:` URL, or a path such as `/privacy`. */
  readonly privacy?: string | undefined;
}

/** What `pages()` takes. */
export interface PagesOptions {
  /** Your name, your logo, your colour. @default the issuer's host as the name, a neutral mark, a blue accent */
  readonly brand?: Brand | undefined;
  /**
   * The language of the pages, or several, the most preferred first: then an app's `ui_locales` decides (OpenID Connect Core
   * 1.0 section 3.1.2.1), else the browser's `Accept-Language`, else the first.
   *
   * @default 'en'
   */
  readonly language?: Language | readonly Language[] | undefined;
  /**
   * Your own sentences in place of the bundled ones, by name; with several languages, by language. Also what your scopes,
   * permissions and roles are called, where that is not what their description says: `'scope.schools:read'`,
   * `'permission.view_schools'`, `'role.registrar'`.
   */
  readonly text?: OwnTexts | undefined;
  /**
   * Views of yours in place of the bundled ones: a folder, as an absolute path or a `file:` URL, with EJS files that are
   * named as the bundled ones in `interactions/views`, such as `login.ejs`; or functions by the name of the view. Either gets
   * {@link PageData} as `page` and gives the HTML below the heading; `layout` gives the document around it.
   *
   * Files are compiled once, at start. In EJS `<%=` escapes and `<%-` does not; a function escapes by itself. The headers
   * stay: scripts, styles and images of other servers are not loaded, nor is anything inline.
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
  refuseUnknown('interactions', options, ['brand', 'language', 'text', 'views']);
  const { brand } = options;
  if (brand) {
    refuseUnknown('interactions.brand', brand, BRAND);
  }
  const languages = resolveLanguages(options.language);
  return Object.freeze({
    name: brand && checkName(brand.name),
    logo: resolveLogo(brand?.logo),
    colours: resolveColours(brand?.accent, brand?.accentDark),
    terms: checkLink('terms', brand?.terms),
    privacy: checkLink('privacy', brand?.privacy),
    stylesheet: resolveStylesheet(brand?.stylesheet),
    languages,
    texts: resolveTexts(languages, options.text),
  });
}

const BRAND: readonly (keyof Brand)[] = [
  'name',
  'logo',
  'accent',
  'accentDark',
  'stylesheet',
  'terms',
  'privacy',
];

function refuseUnknown(option: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new ConfigError(
      `${option}.${unknown}`,
      `there is no such option. The options are: ${known.join(', ')}.`,
    );
  }
}

function checkName(name: unknown): string {
  const isName = typeof name === 'string' && name.trim() !== '' && name.length <= 60 && !/\p{Cc}/u.test(name);
  if (isName) return name;
  throw new ConfigError('interactions.brand.name', 'must be the name of the platform, 1 to 60 characters.');
}

function checkLink(option: 'terms' | 'privacy', link: string | undefined): string | undefined {
  if (link === undefined) return undefined;
  // A second slash or a backslash would lead to another host.
  if (/^\/(?![/\\])/.test(link) || URL.parse(link)?.protocol === 'https:') return link;
  throw new ConfigError(
    `interactions.brand.${option}`,
    'must be an https: URL, or a path that begins with one slash.',
  );
}
