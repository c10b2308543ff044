import type { ConsentForm, InteractionScope } from '../lib/contracts/index.ts';
import type { Access, AccessAnswers, FieldProblem, ScopeLine } from './page.ts';
import type { PageRequest } from './page-request.ts';

/** What an app asks for. */
type Asked = Pick<ConsentForm, 'resource' | 'scopes' | 'permissions'>;

/** Describes the requested scopes in the language of the page. */
export function accessOf({ permissions, resource, scopes }: Asked, request: PageRequest): Access {
  const { count, nameOf } = request;
  const asked = scopes ?? [];
  const labels = permissions.map((permission) => nameOf('permission', permission));
  const labelOf = (scope: InteractionScope): string => nameOf('scope', scope, resource?.resource);
  const lineOf = (scope: InteractionScope): ScopeLine => ({
    label: labelOf(scope),
    tools: scope.tools,
    manyTools: scope.tools.length > MOST_TOOLS ? count('consent.tools', scope.tools.length) : [],
    looks: scope.readOnly,
  });
  return {
    scopes: scopes?.filter((scope) => !scope.optional && !scope.consented).map(lineOf),
    permissions: {
      first: labels.slice(0, MOST_PERMISSIONS),
      others: labels.slice(MOST_PERMISSIONS),
      more: count('consent.morePermissions', Math.max(labels.length - MOST_PERMISSIONS, 0)),
    },
    optional: asked
      .filter(({ optional }) => optional)
      .map((scope) =>
        Object.assign(lineOf(scope), { field: scope.field!, name: scope.name, checked: scope.checked }),
      ),
    consented: asked.filter((scope) => scope.consented).map(labelOf),
    answers: answersOf(asked),
  };
}

// What fits on a page whose buttons are in sight.
const MOST_PERMISSIONS = 5;
const MOST_TOOLS = 5;

function namesOf(scopes: readonly InteractionScope[]): string {
  return scopes.map(({ name }) => name).join(' ');
}

/** Where agents may change something, and may look without it: what changes something can be declined. */
function answersOf(scopes: readonly InteractionScope[]): AccessAnswers | undefined {
  const isForAgents = scopes.some(({ tools }) => tools.length > 0);
  const canLook = scopes.some(({ aboutUser, readOnly }) => readOnly && !aboutUser);
  const changing = scopes.filter(({ consented, readOnly }) => !readOnly && !consented);
  const canBeDeclined = changing.length > 0 && changing.every(({ optional }) => optional);
  if (!isForAgents || !canLook || !canBeDeclined) return undefined;
  return {
    look: namesOf(scopes.filter((scope) => !changing.includes(scope))),
    all: namesOf(scopes),
    startsWithAll: changing.every(({ checked }) => checked),
  };
}

/** The problem to show when all that was asked for could be declined, and was. */
export function nothingLeft(
  { scopes }: Pick<ConsentForm, 'scopes'>,
  { text }: Pick<PageRequest, 'text'>,
): FieldProblem {
  return { field: scopes![0]!.field!, message: text['consent.problem.nothing'] };
}
