import unhomoglyph from 'unhomoglyph';

import type { FieldErrorCode } from '../contracts/field-errors.ts';
import { withoutJoiners } from '../contracts/joiners.ts';

/**
 * The mistake in a name that an app asks for; `undefined` when the app may have the name.
 *
 * @param reserved - names that the name must not look like
 */
export function mistakeInName(name: string, reserved: readonly string[]): FieldErrorCode | undefined {
  if (INVISIBLE.test(withoutJoiners(name).replaceAll(EMOJI_STYLE, ''))) return 'control_characters';
  if (reserved.some((other) => isConfusable(name, other))) return 'name_reserved';
  return isHighlyRestrictive(name) ? undefined : 'name_mixed_scripts';
}

/**
 * The skeletons of a text (UTS 39 section 4) as written, in lower case and in upper case: letters may be confusable in one
 * case only.
 */
function skeletonsOf(text: string): readonly string[] {
  const letters = text.normalize('NFKD').replaceAll(PUNCTUATION, '').replaceAll(MODIFIERS, '');
  return [letters, letters.toLowerCase(), letters.toUpperCase()].map((form) => {
    const skeleton = unhomoglyph(form).normalize('NFKD').replaceAll(MARKS, '');
    // A name that consists of symbols only is compared with its symbols.
    return skeleton.replaceAll(SYMBOLS, '') || skeleton;
  });
}

function isConfusable(name: string, other: string): boolean {
  const skeletons = readingsOf(name).map(skeletonsOf);
  return readingsOf(other)
    .map(skeletonsOf)
    .some((forms) =>
      skeletons.some((own) => own.some((form, index) => form !== '' && form === forms[index])),
    );
}

// An emoji may be followed by U+FE0F, which selects its coloured form and is itself invisible.
const EMOJI_STYLE = /\p{Extended_Pictographic}\uFE0F/gu;

// The blank Braille pattern U+2800 is a symbol to Unicode, but invisible.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

const PUNCTUATION = /[\p{White_Space}\p{Punctuation}\p{Default_Ignorable_Code_Point}\u2800]/gu;

// Signs beside letters, such as ʼ and ˑ; not the iteration and length marks of other scripts.
const MODIFIERS = /[\p{Modifier_Letter}&&[\p{Script_Extensions=Common}\p{Script_Extensions=Latin}]]/gv;

const SYMBOLS = /\p{Symbol}/gu;

// To Unicode, the at sign is punctuation.
const SYMBOLS_AND_AT = /[\p{Symbol}@]/gu;

// Not the vowel signs of scripts such as Devanagari, which are letters there: without them, other words would be alike.
const MARKS = /[\p{Mark}--[\p{Alphabetic}--[\p{Script=Inherited}\p{Script=Hebrew}]]]/gv;

/**
 * The two ways to read a name: with its symbols as letters, where one looks like a letter, and without them. Both are read before NFKC,
 * which turns ™ into the letters TM.
 */
function readingsOf(name: string): readonly string[] {
  const plain = name.replaceAll(SHAPED, (letter) => SHAPED_LETTERS.get(letter)!);
  return [
    plain.replaceAll(SYMBOLS_AND_AT, letterOf),
    plain.replaceAll(SYMBOLS, (symbol) => boxedLetterOf(symbol) ?? ''),
  ];
}

/** Pairs of a character and the letter that it looks like. */
function lettersOf(pairs: string): ReadonlyMap<string, string> {
  return new Map(pairs.split(' ').map((pair) => [pair.slice(0, -1), pair.slice(-1)]));
}

// The data of UTS 39 has only those small capitals whose shape is that of the small letter, and NFKD leaves strokes and hooks.
const SHAPED_LETTERS = lettersOf(
  'ᴀa ʙb ᴄc ᴅd ᴇe ꜰf ɢg ʜh ɪi ᴊj ᴋk ʟl ᴍm ɴn ᴏo ᴘp ꞯq ʀr ꜱs ᴛt ᴜu ᴠv ᴡw ʏy ᴢz ' +
    'Ⱥa ⱥa Ƀb ƀb Ɓb ɓb Ȼc ȼc Ƈc ƈc Đd đd Ɗd ɗd ɖd Ɇe ɇe Ƒf ƒf Ǥg ǥg Ɠg ɠg Ħh ħh ɦh Ɨi ɨi Ɉj ɉj Ƙk ƙk Łl łl Ƚl ƚl ɫl ' +
    'Ɱm ɱm Ɲn ɲn Ƞn ƞn Øo øo Ɵo ɵo Ƥp ƥp Ɋq ɋq Ɍr ɍr Ɽr ɽr ʂs ȿs Ŧt ŧt Ƭt ƭt Ʈt ʈt Ⱦt ⱦt Ʉu ʉu Ʋv ʋv Ⱳw ⱳw Ɏy ɏy Ƴy ƴy ' +
    'Ƶz ƶz Ȥz ȥz Ⱬz ⱬz',
);

const SHAPED = new RegExp(`[${[...SHAPED_LETTERS.keys()].join('')}]`, 'gu');

const SYMBOL_LETTERS = lettersOf(
  '@a ©c ®r ℗p ∆a ∀a ∂d ∈e ∃e ∑e ∩n ∪u ∨v ×x ' +
    '$s €e ₠e £l ₤l ₺l ¥y ₳a ₿b ฿b ¢c ₵c ₡c ₢c ₫d ₣f ₲g ₩w ₥m ₼m ₮t ₸t ₦n ₭k ₱p ₽p',
);

// The first character of each range of the letters A to Z, which NFKC does not map: white on a circle, on a square, of flags.
const BOXED_LETTERS = [0x1_f150, 0x1_f170, 0x1_f1e6];

function letterOf(symbol: string): string {
  return SYMBOL_LETTERS.get(symbol) ?? boxedLetterOf(symbol) ?? symbol;
}

function boxedLetterOf(symbol: string): string | undefined {
  const code = symbol.codePointAt(0)!;
  const first = BOXED_LETTERS.find((start) => code >= start && code < start + 26);
  return first === undefined ? undefined : String.fromCodePoint(0x61 + code - first);
}

// The recommended scripts of UAX 31 (table 5) and those of limited use (table 7). All others are historic.
const SCRIPTS_IN_USE = `
  Arabic Armenian Bengali Bopomofo Cyrillic Devanagari Ethiopic Georgian Greek Gujarati Gurmukhi Han Hangul Hebrew Hiragana
  Kannada Katakana Khmer Lao Latin Malayalam Myanmar Oriya Sinhala Tamil Telugu Thaana Thai Tibetan
  Adlam Balinese Bamum Batak Canadian_Aboriginal Chakma Cham Cherokee Hanifi_Rohingya Javanese Kayah_Li Lepcha Limbu Lisu
  Mandaic Meetei_Mayek Miao New_Tai_Lue Newa Nko Nyiakeng_Puachue_Hmong Ol_Chiki Osage Saurashtra Sundanese Syloti_Nagri
  Syriac Tai_Le Tai_Tham Tai_Viet Tifinagh Vai Wancho Yi`;

const SCRIPTS = [...SCRIPTS_IN_USE.matchAll(/\w+/g)].map(([name]) => ({
  name,
  has: new RegExp(`\\p{Script_Extensions=${name}}`, 'u'),
}));

// `Unknown`: characters that are newer than the Unicode version of this Node.
const ANY_SCRIPT =
  /[\p{Script_Extensions=Common}\p{Script_Extensions=Inherited}\p{Script_Extensions=Unknown}]/u;

// UTS 39 section 5.1: writing systems that combine several scripts.
const COMBINED_SCRIPTS: Readonly<Record<string, readonly string[]>> = {
  Han: ['Japanese', 'Korean', 'Han with Bopomofo'],
  Hiragana: ['Japanese'],
  Katakana: ['Japanese'],
  Hangul: ['Korean'],
  Bopomofo: ['Han with Bopomofo'],
};

const WITH_LATIN: readonly string[] = ['Japanese', 'Korean', 'Han with Bopomofo'];

/** UTS 39 section 5.2, "highly restrictive": one script, or Latin together with one of the East Asian writing systems. */
function isHighlyRestrictive(name: string): boolean {
  const sets = [...new Set(name.normalize('NFC'))]
    .filter((character) => !ANY_SCRIPT.test(character))
    .map((character) => scriptSetOf(character));
  if (sets.length === 0 || sets[0]!.some((script) => isInAll(script, sets))) return true;
  const others = sets.filter((scriptSet) => !scriptSet.includes('Latin'));
  return WITH_LATIN.some((script) => isInAll(script, others));
}

function isInAll(script: string, sets: readonly (readonly string[])[]): boolean {
  return sets.every((scriptSet) => scriptSet.includes(script));
}

function scriptSetOf(character: string): readonly string[] {
  const own = SCRIPTS.filter(({ has }) => has.test(character)).map(({ name }) => name);
  // The historic scripts count as one: what matters is that they do not stand beside another script.
  if (own.length === 0) return ['historic'];
  return own.concat(own.flatMap((name) => COMBINED_SCRIPTS[name] ?? []));
}
