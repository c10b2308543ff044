import { agentsUrl, statisticsUrl } from './gate.ts';

/** The labels of the permissions, the roles and the scopes in German. The pages bring their own sentences. */
export function germanLabels(
  baseUrl: string,
): Record<`${'scope' | 'permission' | 'role'}.${string}`, string> {
  return {
    'permission.view_schools': 'Schulen ansehen',
    'permission.edit_schools': 'Schulen ändern',
    'permission.close_schools': 'Schulen schließen',
    'permission.manage_apps': 'Eigene Apps verwalten',
    'permission.manage_all_apps': 'Apps aller Nutzer verwalten',
    'role.registrar': 'Sekretariat',
    'role.administrator': 'Verwaltung',
    'scope.profile': 'Ihren Namen und Ihre E-Mail-Adresse sehen',
    'scope.schools:read': 'Ihre Schulen sehen',
    'scope.schools:write': 'Ihre Schulen umbenennen',
    [`scope.${statisticsUrl(baseUrl)} statistics:read`]: 'Sehen, wie viele Schulen es gibt',
    [`scope.${agentsUrl(baseUrl)} schools:read`]: 'Ihre Schulen sehen',
    [`scope.${agentsUrl(baseUrl)} schools:write`]: 'Ihre Schulen umbenennen',
    [`scope.${agentsUrl(baseUrl)} schools:close`]: 'Ihre Schulen für neue Schüler schließen',
  };
}
