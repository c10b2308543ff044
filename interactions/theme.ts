import { ConfigError } from '../lib/errors.ts';
import type { Check } from '../lib/options/declare.ts';

/** Red, green and blue, each 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

// WCAG 2.2, 1.4.3.
const READABLE = 4.5;

// `--page` of theme.css, light and dark: the background of links. The text of buttons has nearly the same colour.
const LIGHT_PAGE: Colour = [0xff, 0xff, 0xff];
const DARK_PAGE: Colour = [0x13, 0x13, 0x16];

const DEFAULT_ACCENT: Colour = [0x0b, 0x57, 0xd0];

/** A colour with enough contrast (WCAG 2.2, 1.4.3). @param remedy - what it is read with, and what to do */
function readableOn(background: Colour, remedy: string): Check<string, Colour> {
  return (place, text) => {
    const colour = typeof text === 'string' ? parseColour(text) : undefined;
    if (!colour) throw new ConfigError(place, 'must be a colour such as #0b57d0.');
    const ratio = contrast(colour, background);
    if (ratio >= READABLE) return colour;
    throw new ConfigError(
      place,
      `${text} has a contrast of ${ratio.toFixed(2)}:1, but needs at least ${READABLE}:1, with ${remedy}`,
    );
  };
}

export const accent: Check<string, Colour> = readableOn(
  LIGHT_PAGE,
  'white, the colour of the page and of the text on buttons. Darken it.',
);

export const accentDark: Check<string, Colour> = readableOn(
  DARK_PAGE,
  'the dark page (#131316). Lighten it.',
);

/** The CSS variables of the brand, to be appended to theme.css. */
export function brandVariables(colours: {
  readonly accent?: Colour | undefined;
  readonly accentDark?: Colour | undefined;
}): string {
  const { accent: light = DEFAULT_ACCENT } = colours;
  const { accentDark: dark = lighten(light, DARK_PAGE, 7) } = colours;
  return `
:root { --accent: ${hex(light)}; --on-accent: #ffffff; }
@media (prefers-color-scheme: dark) { :root { --accent: ${hex(dark)}; --on-accent: #131316; } }
`;
}

/** Reads `#rgb` or `#rrggbb`; `undefined` for anything else. */
function parseColour(text: string): Colour | undefined {
  if (!/^#(?:[\da-f]{3}|[\da-f]{6})$/i.test(text)) return undefined;
  const digits = text.length === 4 ? text.replaceAll(/[\da-f]/gi, '$&$&') : text;
  const channel = (start: number): number => Number.parseInt(digits.slice(start, start + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
function contrast(one: Colour, other: Colour): number {
  const luminances = [luminance(one), luminance(other)];
  return (Math.max(...luminances) + 0.05) / (Math.min(...luminances) + 0.05);
}

function luminance([red, green, blue]: Colour): number {
  return 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
}

function linear(channel: number): number {
  const share = channel / 255;
  return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
}

/** Lightens a colour, with the same hue and saturation (HSL), until its contrast with the background reaches the ratio. */
function lighten(colour: Colour, background: Colour, ratio: number): Colour {
  const lightness = (Math.max(...colour) + Math.min(...colour)) / 2;
  for (let lighter = lightness; lighter < 255; lighter += 1) {
    const spread = chromaRange(lighter) / chromaRange(lightness);
    const shift = (channel: number): number => Math.round(lighter + (channel - lightness) * spread);
    const shifted: Colour = [shift(colour[0]), shift(colour[1]), shift(colour[2])];
    if (contrast(shifted, background) >= ratio) return shifted;
  }
  return [255, 255, 255];
}

/** The difference of the channels of a fully saturated colour of this lightness; at least 1, because it is a divisor. */
function chromaRange(lightness: number): number {
  return Math.max(1, 255 - Math.abs(2 * lightness - 255));
}

/** Writes a colour as `#rrggbb`. */
function hex(colour: Colour): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
