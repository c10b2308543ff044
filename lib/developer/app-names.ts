import type { FieldErrorCode } from '../errors.ts';

/** Returns why an app may not have a name, or `undefined` when the name is allowed. */
export type CheckAppName = (name: string, reserved: readonly string[]) => FieldErrorCode | undefined;

/** The names of Unicode properties and of their values, by each of their aliases. */
interface PropertyNames {
  readonly default: ReadonlyMap<string, ReadonlyMap<string, string>>;
}

/** Makes the check of the names of apps that nobody registered by hand. Its data is loaded once, on first use. */
export function createNameMistake(
  reserved: ReadonlySet<string>,
): (name: string) => Promise<FieldErrorCode | undefined> {
  let check: ReturnType<typeof loadAppNameCheck> | undefined;
  return async (name) => {
    check ??= loadAppNameCheck();
    return (await check)(name, [...reserved]);
  };
}

/**
 * Loads the check of names by Unicode Technical Standard 39, with its data. It refuses names that look like a reserved name,
 * mix scripts, or contain invisible characters.
 */
export async function loadAppNameCheck(): Promise<CheckAppName> {
  const [{ default: unhomoglyph }, names] = await Promise.all([
    import('unhomoglyph'),
    // @ts-expect-error -- the package has no types of its own
    import('unicode-match-property-value-ecmascript/data/mappings.js') as Promise<PropertyNames>,
  ]);
  const scripts = scriptsOf(names.default.get('Script_Extensions')!.values());

  /**
   * The skeletons of a name (UTS 39 section 4) as written, in lower case and in upper case: letters may be confusable in one
   * case only.
   */
  function skeletonsOf(name: string): readonly string[] {
    const text = name.normalize('NFKC').replaceAll(IGNORED, '');
    return [text, text.toLowerCase(), text.toUpperCase()].map((form) => unhomoglyph(form).normalize('NFKC'));
  }

  function isConfusable(name: string, other: string): boolean {
    const skeletons = skeletonsOf(name);
    return skeletonsOf(other).some((skeleton, form) => skeleton !== '' && skeleton === skeletons[form]);
  }

  return (name, reserved) => {
    if (INVISIBLE.test(name.replaceAll(EMOJI_STYLE, ''))) return 'control_characters';
    if (reserved.some((other) => isConfusable(name, other))) return 'name_reserved';
    return isHighlyRestrictive(name, scripts) ? undefined : 'name_mixed_scripts';
  };
}

// An emoji may be followed by U+FE0F, which selects its coloured form and is itself invisible.
const EMOJI_STYLE = /\p{Extended_Pictographic}\uFE0F/gu;

// The blank Braille pattern U+2800 is a symbol to Unicode, but invisible.
const INVISIBLE = /[\p{Default_Ignorable_Code_Point}\u2800]/u;

const IGNORED = /[\p{White_Space}\p{Punctuation}\p{Default_Ignorable_Code_Point}\u2800]/gu;

interface Script {
  readonly name: string;
  readonly has: RegExp;
}

/** The scripts that the regular expressions of this Node version support. */
function scriptsOf(names: Iterable<string>): readonly Script[] {
  return [...new Set(names)].flatMap((name) => {
    try {
      return [{ name, has: new RegExp(`\\p{Script_Extensions=${name}}`, 'u') }];
    } catch {
      return [];
    }
  });
}

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
function isHighlyRestrictive(name: string, scripts: readonly Script[]): boolean {
  const sets = [...new Set(name.normalize('NFC'))]
    .filter((character) => !ANY_SCRIPT.test(character))
    .map((character) => scriptSetOf(character, scripts));
  if (sets.length === 0 || sets[0]!.some((script) => isInAll(script, sets))) return true;
  const others = sets.filter((scriptSet) => !scriptSet.includes('Latin'));
  return WITH_LATIN.some((script) => isInAll(script, others));
}

function isInAll(script: string, sets: readonly (readonly string[])[]): boolean {
  return sets.every((scriptSet) => scriptSet.includes(script));
}

function scriptSetOf(character: string, scripts: readonly Script[]): readonly string[] {
  const own = scripts.filter(({ has }) => has.test(character)).map(({ name }) => name);
  return own.concat(own.flatMap((name) => COMBINED_SCRIPTS[name] ?? []));
}
