import type { FieldErrorCode } from '../errors.ts';

/** Says what is wrong with a name that a person gives an app, or nothing when it can be mistaken for no other. */
export type CheckAppName = (name: string, reserved: readonly string[]) => FieldErrorCode | undefined;

/** The names of Unicode's properties and of their values, by every spelling. */
interface PropertyNames {
  readonly default: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/**
 * Loads the check of names by Unicode Technical Standard 39, which takes some data: names that cannot be told from those of
 * the platform, that mix scripts, or that have characters that cannot be seen.
 */
export async function loadAppNameCheck(): Promise<CheckAppName> {
  const [{ default: unhomoglyph }, names] = await Promise.all([
    import('unhomoglyph'),
    // @ts-expect-error -- the package has no types of its own
    import('unicode-match-property-value-ecmascript/data/mappings.js') as Promise<PropertyNames>,
  ]);
  const scripts = scriptsOf(names.default.get('Script_Extensions')!.values());

  /** What a name looks like, in three forms: letters that look alike as capitals need not do so when they are small. */
  function looksOf(name: string): readonly string[] {
    const text = name.normalize('NFKC').replaceAll(BETWEEN_LETTERS, '');
    return [text, text.toLowerCase(), text.toUpperCase()].map((form) => unhomoglyph(form).normalize('NFKC'));
  }

  function looksLike(name: string, other: string): boolean {
    const looks = looksOf(name);
    return looksOf(other).some((look, form) => look !== '' && look === looks[form]);
  }

  return (name, reserved) => {
    if (INVISIBLE.test(name.replaceAll(EMOJI_STYLE, ''))) return 'control_characters';
    if (reserved.some((other) => looksLike(name, other))) return 'name_reserved';
    return isOfOneScript(name, scripts) ? undefined : 'name_mixed_scripts';
  };
}

// An emoji is followed by a character that asks for its colours.
const EMOJI_STYLE = /\p{Extended_Pictographic}\uFE0F/gu;

// Unicode counts the empty Braille pattern among the symbols.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

const BETWEEN_LETTERS = /[\p{White_Space}\p{Punctuation}\p{Default_Ignorable_Code_Point}\u2800]/gu;

interface Script {
  readonly name: string;
  readonly has: RegExp;
}

/** The scripts that this version of Node knows, of those that there are. */
function scriptsOf(names: Iterable<string>): readonly Script[] {
  return [...new Set(names)].flatMap((name) => {
    try {
      return [{ name, has: new RegExp(`\\p{Script_Extensions=${name}}`, 'u') }];
    } catch {
      return [];
    }
  });
}

// And what is newer than this Node.
const OF_ANY_SCRIPT =
  /[\p{Script_Extensions=Common}\p{Script_Extensions=Inherited}\p{Script_Extensions=Unknown}]/u;

// UTS 39 section 5.1: what is written with several scripts by custom.
const WRITTEN_TOGETHER: Readonly<Record<string, readonly string[]>> = {
  Han: ['Japanese', 'Korean', 'Han with Bopomofo'],
  Hiragana: ['Japanese'],
  Katakana: ['Japanese'],
  Hangul: ['Korean'],
  Bopomofo: ['Han with Bopomofo'],
};

const WITH_LATIN: readonly string[] = ['Japanese', 'Korean', 'Han with Bopomofo'];

/** UTS 39 section 5.2, "highly restrictive": one script, or one of those of East Asia beside Latin. */
function isOfOneScript(name: string, scripts: readonly Script[]): boolean {
  const sets = [...new Set(name.normalize('NFC'))]
    .filter((character) => !OF_ANY_SCRIPT.test(character))
    .map((character) => writingsOf(character, scripts));
  if (sets.length === 0 || sets[0]!.some((writing) => isAll(writing, sets))) return true;
  const others = sets.filter((writings) => !writings.includes('Latin'));
  return WITH_LATIN.some((writing) => isAll(writing, others));
}

function isAll(writing: string, sets: readonly (readonly string[])[]): boolean {
  return sets.every((writings) => writings.includes(writing));
}

function writingsOf(character: string, scripts: readonly Script[]): readonly string[] {
  const own = scripts.filter(({ has }) => has.test(character)).map(({ name }) => name);
  return own.concat(own.flatMap((name) => WRITTEN_TOGETHER[name] ?? []));
}
