const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

// What terminals show two cells wide: East Asian Wide and Fullwidth (Unicode UAX #11), and pictures.
const WIDE =
  /^[\u{1100}-\u{115F}\u{2E80}-\u{303E}\u{3041}-\u{A4CF}\u{A960}-\u{A97F}\u{AC00}-\u{D7A3}\u{F900}-\u{FAFF}\u{FE30}-\u{FE6F}\u{FF01}-\u{FF60}\u{FFE0}-\u{FFE6}\u{1F1E6}-\u{1F1FF}\u{20000}-\u{3FFFD}]|^\p{Emoji_Presentation}|\u{FE0F}/u;

/** How many cells of a terminal a text takes. */
export function displayWidth(text: string): number {
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += widthOf(segment);
  return width;
}

/** Cuts a text to a number of cells; `…` stands for the rest. */
export function cut(text: string, most: number): string {
  if (displayWidth(text) <= most) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += widthOf(segment);
    if (width > most - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The text without what would move the cursor, change colours or turn the direction of reading. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u{2028}\u{2029}]/gu, '\u{FFFD}');
}

function widthOf(grapheme: string): number {
  if (/^[\p{Mn}\p{Me}\p{Cf}]*$/u.test(grapheme)) return 0;
  return WIDE.test(grapheme) ? 2 : 1;
}
