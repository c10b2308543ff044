/** Red, green and blue, each 0 to 255. */
export type Colour = readonly [red: number, green: number, blue: number];

/** Reads `#rgb` or `#rrggbb`; `undefined` for anything else. */
export function parseColour(text: string): Colour | undefined {
  if (!/^#(?:[\da-f]{3}|[\da-f]{6})$/i.test(text)) return undefined;
  const digits = text.length === 4 ? text.replaceAll(/[\da-f]/gi, '$&$&') : text;
  const channel = (start: number): number => Number.parseInt(digits.slice(start, start + 2), 16);
  return [channel(1), channel(3), channel(5)];
}

/** The contrast ratio of two colours, 1 to 21 (WCAG 2.2, "contrast ratio"). */
export function contrast(one: Colour, other: Colour): number {
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

/** Lightens a colour, keeping its hue and saturation (HSL), until it stands out from the background by the given ratio. */
export function lighten(colour: Colour, background: Colour, ratio: number): Colour {
  const lightness = (Math.max(...colour) + Math.min(...colour)) / 2;
  for (let lighter = lightness; lighter < 255; lighter += 1) {
    const spread = chromaRange(lighter) / chromaRange(lightness);
    const shift = (channel: number): number => Math.round(lighter + (channel - lightness) * spread);
    const shifted: Colour = [shift(colour[0]), shift(colour[1]), shift(colour[2])];
    if (contrast(shifted, background) >= ratio) return shifted;
  }
  return [255, 255, 255];
}

/** How far apart the channels of a fully saturated colour of this lightness are. At least 1: black has no range. */
function chromaRange(lightness: number): number {
  return Math.max(1, 255 - Math.abs(2 * lightness - 255));
}

/** Writes a colour as `#rrggbb`. */
export function hex(colour: Colour): string {
  return `#${colour.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
