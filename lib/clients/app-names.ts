import { fieldError } from '../contracts/field-errors.ts';
import type { FieldError } from '../contracts/field-errors.ts';

/** The mistake in the name of an app; `undefined` when the app may have the name. */
export type CheckAppName = (name: string) => FieldError | undefined;

/**
 * Makes the function that loads the check of the names of apps that no administrator registers, by Unicode Technical Standard 39.
 * It refuses names that look like a reserved name, mix scripts, or contain invisible characters.
 *
 * @param reserved - read at each check, since the brand of the pages is added later
 */
export function createAppNameCheck(reserved: ReadonlySet<string>): () => Promise<CheckAppName> {
  return async () => {
    // The expressions for all scripts take longer to make than the rest of this package takes to start.
    const { mistakeInName } = await import('./confusable-names.ts');
    return (name) => {
      const mistake = mistakeInName(name, [...reserved]);
      return mistake && fieldError('name', mistake);
    };
  };
}
