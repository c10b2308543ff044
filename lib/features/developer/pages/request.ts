import type { PageRequest } from '../../../../interactions/page-request.ts';
import type { FieldProblem } from '../../../../interactions/page.ts';
import { plain, sentence } from '../../../../interactions/sentence.ts';
import type { Sentence } from '../../../../interactions/sentence.ts';
import { titleOfApp } from '../../../../interactions/unregistered.ts';
import type { FieldError } from '../../../contracts/index.ts';
import { hasKeysPage } from '../page/credentials.ts';
import type { OfApp, OfDeveloper, ShownForm } from '../page/request.ts';
import type { AppTexts, DeveloperText } from '../texts.ts';
import type { Developer } from '../types.ts';

/** A request for a page, with what the page shows. */
export type Shown<Shows extends OfDeveloper = OfDeveloper> = PageRequest<DeveloperText> & Shows;

/** The text that names the list of apps, in its heading and in each link to it: an administrator sees all apps. */
export function nameOfArea({
  administrator,
}: Pick<Developer, 'administrator'>): 'page.apps' | 'page.allApps' {
  return administrator ? 'page.allApps' : 'page.apps';
}

/** The confirmation of the last action. */
export function confirmationOf({ done, text }: Shown): Sentence | undefined {
  const key = `apps.done.${done}`;
  return Object.hasOwn(text, key) ? sentence(text[key as DeveloperText]) : undefined;
}

type Tab = 'overview' | 'settings' | 'permissions' | 'secrets' | 'keys' | 'activity';

/** The data that all pages of an app have: its name, a link to the list, and the tabs. */
export function frameOf({ client, developer, home, path, text }: Shown<OfApp>, here: Tab) {
  const tabs: readonly Tab[] = [
    ...(['overview', 'settings', 'permissions'] as const),
    // A public app does not authenticate.
    ...(client.confidential ? (['secrets'] as const) : []),
    ...(hasKeysPage(developer, client) ? (['keys'] as const) : []),
    'activity',
  ];
  return {
    heading: sentence('{client}', { client: titleOfApp(client, text) }),
    above: { href: home, label: text[nameOfArea(developer)] },
    isDisabled: client.disabled,
    tabs: tabs.map((tab) => ({
      href: tab === 'overview' ? path : `${path}/${tab}`,
      label: text[`apps.tab.${tab}`],
      isHere: tab === here,
    })),
  };
}

/** The mistakes in a form in the language of the page. A mistake without a text of the page has the registry's message. */
export function problemsOf({
  developer,
  problems,
  status,
  text,
}: Shown<OfDeveloper & ShownForm>): readonly FieldProblem[] {
  if (status === 409) return [{ message: text['apps.problem.changed'] }];
  const isFurther = (name: string): boolean => developer.furtherFields.some((field) => field.name === name);
  const described = problems.map((error): FieldProblem => {
    const message = wordsOf(error, text);
    const [, name = '', index] = /^(.*?)(?:\[(\d+)\])?$/.exec(error.field) ?? [];
    const field =
      name.startsWith('keys') && name !== 'keys.jwksUri'
        ? 'jwks'
        : isFurther(name)
          ? name
          : FORM_FIELDS.get(name);
    if (field === undefined) return { message };
    if (index === undefined) return { field, message };
    const names = { number: String(Number(index) + 1), problem: message };
    return {
      field,
      message: plain(sentence(text[numbered(field, isFurther(field))], names)),
    };
  });
  return [...new Map(described.map((problem) => [problem.message, problem])).values()];
}

function wordsOf({ code, message, parameters = {} }: FieldError, text: AppTexts): string {
  const key = `apps.problem.${code}`;
  if (!Object.hasOwn(text, key)) return plain(sentence(text['apps.problem.other'], { problem: message }));
  const names = Object.entries(parameters).map(([name, value]) => [name, String(value)]);
  return plain(sentence(text[key as DeveloperText], Object.fromEntries(names)));
}

/** The text for a problem of one of several entries. A feature adds such texts with its fields. */
function numbered(field: string, isFurther: boolean): DeveloperText {
  if (isFurther) return `apps.problem.${field}` as DeveloperText;
  return field === 'jwks' ? 'apps.problem.key' : 'apps.problem.redirectUri';
}

/** The fields that forms show, by their names in the registry; a problem of another field is about the form as a whole. */
const FORM_FIELDS: ReadonlyMap<string, string> = new Map([
  ...['name', 'clientUri', 'logo', 'grantType', 'redirectUris', 'label'].map((name) => [name, name] as const),
  ['keys.jwksUri', 'jwksUri'],
]);
