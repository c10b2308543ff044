import { ConfigError } from '../lib/errors.ts';
import { resolveLogo } from './logo.ts';
import type { Logo } from './logo.ts';
import { resolveTexts } from './text.ts';
import type { Language, Texts } from './text.ts';
import { resolveColours } from './theme.ts';
import type { Colours } from './theme.ts';

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
  /** Your terms of use: an `https:` URL, or a path such as `/terms`. */
  readonly terms?: string | undefined;
  /** Your privacy policy: an `https:` URL, or a path such as `/privacy`. */
  readonly privacy?: string | undefined;
}

/** What `pages()` takes. */
export interface PagesOptions {
  /** @default the issuer's host as the name, a neutral mark, a blue accent */
  readonly brand?: Brand | undefined;
  /** @default 'en' */
  readonly language?: Language | undefined;
  /** Your own sentences in place of the bundled ones, by name. */
  readonly text?: Partial<Texts> | undefined;
}

/** The options, checked and complete. */
export interface Settings {
  /** `undefined`: the issuer's host. */
  readonly name: string | undefined;
  readonly logo: Logo;
  readonly colours: Colours;
  readonly terms: string | undefined;
  readonly privacy: string | undefined;
  readonly language: Language;
  readonly text: Texts;
}

/** Checks the options once, at start. Throws `ConfigError` for the first mistake. */
export function resolveSettings(options: PagesOptions): Settings {
  refuseUnknown('interactions', options, ['brand', 'language', 'text']);
  const { brand, language = 'en', text = {} } = options;
  if (brand) {
    refuseUnknown('interactions.brand', brand, ['name', 'logo', 'accent', 'accentDark', 'terms', 'privacy']);
  }
  return Object.freeze({
    name: brand && checkName(brand.name),
    logo: resolveLogo(brand?.logo),
    colours: resolveColours(brand?.accent, brand?.accentDark),
    terms: checkLink('terms', brand?.terms),
    privacy: checkLink('privacy', brand?.privacy),
    language,
    text: resolveTexts(language, text),
  });
}

function refuseUnknown(option: string, value: object, known: readonly string[]): void {
  const unknown = Object.keys(value).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw new ConfigError(
      `${option}.${unknown}`,
      `there is no such option. Those there are: ${known.join(', ')}.`,
    );
  }
}

function checkName(name: unknown): string {
  const isName = typeof name === 'string' && name.trim() !== '' && name.length <= 60 && !/\p{Cc}/u.test(name);
  if (isName) return name;
  throw new ConfigError(
    'interactions.brand.name',
    'must be what people call the platform, in 1 to 60 characters.',
  );
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
