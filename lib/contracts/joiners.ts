/**
 * Whether a name has control or format characters, such as the bidi controls of Unicode, which change how the text around them is
 * displayed. Joiners do not count where the spelling of a language or an emoji needs them.
 */
export function hasControls(name: string): boolean {
  return CONTROLS.test(name) && CONTROLS.test(withoutJoiners(name));
}

const CONTROLS = /[\p{Cc}\p{Cf}]/u;

/** The scripts that are spelt with zero-width joiners and non-joiners (UAX 31 section 2.3.1). */
const SCRIPTS =
  'Adlam Arabic Bengali Devanagari Gujarati Gurmukhi Kannada Malayalam Nko Oriya Sinhala Syriac Tamil Telugu';

/**
 * A text without the zero-width joiners (U+200C, U+200D) between two letters of such scripts, as in Persian, Hindi and Sinhala, and
 * without the emoji that are sequences of characters (UTS 51). Anywhere else a joiner is only invisible.
 */
export function withoutJoiners(text: string): string {
  // Made when it is used, because the expressions of scripts take long to make, and few names have joiners.
  const scripts = SCRIPTS.replaceAll(/\w+/g, String.raw`\p{scx=$&}`).replaceAll(' ', '');
  const letter = String.raw`[[\p{Alphabetic}\p{Mark}]&&[${scripts}]]`;
  const joiners = new RegExp(`(?<=${letter})[\u200C\u200D](?=${letter})`, 'gv');
  return text.replaceAll(/\p{RGI_Emoji}/gv, '').replaceAll(joiners, '');
}
