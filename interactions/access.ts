import type { InteractionScope, NamedResource } from '../lib/contracts/index.ts';
import type { Access, FieldProblem } from './page.ts';
import type { PageRequest } from './page-request.ts';

// Numbered, because a scope may contain characters that field names cannot. A value, not the number, is the scope.
const FIELD = 'scope-';

/** Describes the requested scopes in the language of the page. */
export function accessOf(
  {
    limited,
    resource,
    scopes,
  }: {
    readonly limited: boolean;
    readonly resource: NamedResource | undefined;
    readonly scopes: readonly InteractionScope[];
  },
  { nameOf }: Pick<PageRequest, 'nameOf'>,
  isChecked: boolean,
): Access {
  const labelOf = (scope: InteractionScope): string => nameOf('scope', scope, resource?.resource);
  return {
    scopes: scopes.filter((scope) => !scope.optional && !scope.consented).map(labelOf),
    optional: scopes
      .filter(({ optional }) => optional)
      .map((scope, index) => ({
        field: `${FIELD}${index}`,
        name: scope.name,
        label: labelOf(scope),
        isChecked,
      })),
    consented: scopes.filter((scope) => scope.consented).map(labelOf),
    limited,
  };
}

/** The values of the boxes that are checked in a posted form, by the beginning of the names of their fields. */
export function checkedBoxes(posted: Readonly<Record<string, string>>, prefix: string = FIELD): string[] {
  return Object.entries(posted)
    .filter(([field]) => field.startsWith(prefix))
    .map(([, value]) => value);
}

/** Whether all that was asked for could be declined, and was. */
export function isNothingLeft(scopes: readonly InteractionScope[], checked: readonly string[]): boolean {
  return scopes.length > 0 && checked.length === 0 && scopes.every(({ optional }) => optional);
}

/** The problem to show then. */
export function nothingLeft({ text }: Pick<PageRequest, 'text'>): FieldProblem {
  return { field: `${FIELD}0`, message: text['consent.problem.nothing'] };
}
