import type { InteractionFlow } from '../lib/contracts/index.ts';
import { ConfigError } from '../lib/errors.ts';
import { object, optional, readOptions, unchecked } from '../lib/options/declare.ts';
import type { Check, Given, Values } from '../lib/options/declare.ts';
import { logo, stylesheet } from './brand.ts';
import { languages, resolveTexts } from './text.ts';
import type { Language, OwnTexts } from './text.ts';
import { accent, accentDark } from './theme.ts';
import type { OwnViews } from './views.ts';

const name: Check<string> = (place, given: unknown) => {
  const isName =
    typeof given === 'string' && given.trim() !== '' && given.length <= 60 && !/\p{Cc}/u.test(given);
  if (isName) return given;
  throw new ConfigError(place, 'must be the name of the platform, 1 to 60 characters.');
};

const link: Check<string> = (place, given) => {
  // A URL that begins with `//` or `/\` leads to another host.
  if (/^\/(?![/\\])/.test(given) || URL.parse(given)?.protocol === 'https:') return given;
  throw new ConfigError(place, 'must be an https: URL, or a path that begins with one slash.');
};

const BRAND = {
  /** The name of the platform, 1 to 60 characters. Shown in titles and sentences. */
  name,
  /**
   * An SVG, PNG, JPEG or WebP image of at most 256 KiB: an absolute path, a `file:` URL, a `data:` URL, or an `https:` URL
   * that browsers load it from. Files are read once, at start. The dark page shows the same logo; an SVG can change its colours
   * by `prefers-color-scheme`.
   *
   * @default a neutral mark, with the name beside it
   */
  logo: optional(logo),
  /**
   * The colour of buttons and links, as `#rrggbb`. It is used with white text and on a white page, so its contrast with white
   * must be at least 4.5:1 (WCAG 2.2, 1.4.3).
   *
   * @default '#0b57d0'
   */
  accent: optional(accent),
  /**
   * The colour of buttons and links on the dark page, used with nearly black text: its contrast with `#131316` must be at least
   * 4.5:1 (WCAG 2.2, 1.4.3).
   *
   * @default `accent`, lightened
   */
  accentDark: optional(accentDark),
  /**
   * Your stylesheet, loaded after the bundled ones: an absolute path or a `file:` URL. It is read once, at start. Pages load
   * images from this server only, and no fonts. The contrast of its colours is not checked.
   */
  stylesheet: optional(stylesheet),
  /** Where the error pages lead back to: an `https:` URL, or a path of the issuer's host. @default '/' */
  home: optional(link, '/'),
  /** Your terms of use: an `https:` URL, or a path such as `/terms`. */
  terms: optional(link),
  /** Your privacy policy: an `https:` URL, or a path such as `/privacy`. */
  privacy: optional(link),
};

/** The brand of the pages: your name, your logo, your colours. */
export interface Brand extends Given<typeof BRAND> {}

const PAGES = {
  /** Your name, your logo, your colours. @default the issuer's host as the name, a neutral mark, a blue accent */
  brand: optional<Brand, Values<typeof BRAND>>(object(BRAND)),
  /**
   * The language of the pages, or several, the most preferred first. With several, the app's `ui_locales` decides (OpenID
   * Connect Core 1.0 section 3.1.2.1), else the browser's `Accept-Language`, else the first one is used.
   *
   * @default 'en'
   */
  language: optional(languages, 'en'),
  /**
   * Your own sentences, which replace the bundled ones, by name; with several languages, by language. Also labels of your
   * scopes, permissions and roles that differ from their descriptions, such as `'scope.schools:read'`,
   * `'permission.view_schools'` and `'role.registrar'`.
   */
  text: optional(unchecked<OwnTexts>, {}),
  /**
   * Your own views, which replace the bundled ones: a folder, as an absolute path or a `file:` URL, with EJS files named like
   * the bundled ones in `interactions/views`, such as `login.ejs`; or an object with a function per view. Both receive
   * {@link PageData} as `page` and return the HTML below the heading; `layout` returns the document around it.
   *
   * Files are compiled once, at start. In EJS `<%=` escapes and `<%-` does not; a function has to escape its values itself, see
   * {@link escapeHtml}. The Content-Security-Policy does not change: browsers load no scripts, styles and images of other
   * servers, and no inline ones.
   */
  views: optional(unchecked<string | URL | OwnViews>),
};

/** Options of `pages()`. */
export interface PagesOptions extends Given<typeof PAGES> {}

/** The options, checked and complete. */
export interface PageSettings extends Partial<Omit<Values<typeof BRAND>, 'name'>> {
  /** `undefined`: the issuer's host. */
  readonly name: string | undefined;
  readonly languages: readonly [Language, ...Language[]];
  readonly text: OwnTexts;
  readonly views: PagesOptions['views'];
}

/** Checks the options once, at start. Throws `ConfigError` for the first mistake. */
export function resolveSettings(options: PagesOptions): PageSettings {
  checkNotFlow(options);
  const { brand, language, text, views } = readOptions(PAGES, options, 'interactions');
  resolveTexts(language, text, {});
  return Object.freeze({
    ...brand,
    name: brand?.name,
    languages: language,
    text,
    views,
  });
}

/** With `interactions: pages`, the server calls `pages` itself, with what it passes to the function that `pages()` returns. */
function checkNotFlow(options: PagesOptions & Partial<InteractionFlow>): void {
  if (typeof options?.login === 'function') {
    throw new ConfigError('interactions', 'pass the result of pages(), not the function pages itself');
  }
}
