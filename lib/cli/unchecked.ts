import type { GateFile } from './gate-file.ts';

/** The note for names that nobody has compared with the gate. */
export function uncheckedNames(
  names: GateFile | undefined,
  {
    roles = [],
    permissions = [],
    scopes = [],
  }: {
    roles?: readonly string[] | undefined;
    permissions?: readonly string[] | undefined;
    scopes?: readonly string[] | undefined;
  },
): readonly string[] {
  const unchecked = [...(names ? [] : [...roles, ...permissions]), ...(names?.scopes ? [] : scopes)];
  if (unchecked.length === 0) return [];
  return [`Not checked, because --gate is missing: ${unchecked.join(', ')}.`];
}
