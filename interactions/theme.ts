import { ConfigError } from '../lib/errors.ts';
import { contrast, hex, lighten, parseColour } from './contrast.ts';
import type { Colour } from './contrast.ts';

/** The brand's colour on the light page and on the dark one. */
export interface Colours {
  readonly accent: Colour;
  readonly accentDark: Colour;
}

// WCAG 2.2, 1.4.3.
const READABLE = 4.5;

// `--page` of theme.css, light and dark. Links stand on them; the text on a button has the same colour, or nearly.
const LIGHT_PAGE: Colour = [0xff, 0xff, 0xff];
const DARK_PAGE: Colour = [0x13, 0x13, 0x16];

const DEFAULT_ACCENT = '#0b57d0';

/** Reads the brand's colours. Refuses one that people could not read text in. */
export function resolveColours(accent: string = DEFAULT_ACCENT, accentDark?: string): Colours {
  const light = readable(
    'accent',
    accent,
    LIGHT_PAGE,
    'white, the colour of the page and of the text on buttons. Darken it.',
  );
  return {
    accent: light,
    accentDark:
      accentDark === undefined
        ? lighten(light, DARK_PAGE, 7)
        : readable('accentDark', accentDark, DARK_PAGE, 'the dark page (#131316). Lighten it.'),
  };
}

function readable(option: keyof Colours, text: string, background: Colour, remedy: string): Colour {
  const colour = typeof text === 'string' ? parseColour(text) : undefined;
  if (!colour) throw new ConfigError(`interactions.brand.${option}`, 'must be a colour such as #0b57d0.');
  const ratio = contrast(colour, background);
  if (ratio >= READABLE) return colour;
  throw new ConfigError(
    `interactions.brand.${option}`,
    `${text} has a contrast of ${ratio.toFixed(2)}:1, but needs at least ${READABLE}:1, with ${remedy}`,
  );
}

/** The brand's own variables, to go after those of theme.css. */
export function brandVariables({ accent, accentDark }: Colours): string {
  return `
:root { --accent: ${hex(accent)}; --on-accent: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --accent: ${hex(accentDark)}; --on-accent: #131316; } }
`;
}
