/** HTML in which all inserted texts are escaped. */
export class Html {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value for an HTML template: text is escaped, `undefined` and `false` are omitted. */
export type HtmlValue = Html | readonly Html[] | string | number | false | undefined;

/** Makes HTML of a template. Attributes that hold a value must be quoted. */
export function html(texts: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Html(String.raw({ raw: texts }, ...values.map(toText)));
}

function toText(value: HtmlValue): string {
  if (value === undefined || value === false) return '';
  if (value instanceof Html) return value.text;
  if (typeof value === 'object') return value.map(({ text }) => text).join('');
  return String(value).replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
