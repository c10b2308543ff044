import type { BrowserContextOptions, Page } from 'playwright-core';

/** A way to operate a page. */
export interface InputMethod {
  readonly options: BrowserContextOptions;
  /** Follows a link, presses a button, or checks a box. */
  choose(page: Page, role: 'link' | 'button' | 'radio' | 'checkbox', name: string): Promise<void>;
  type(page: Page, label: string, text: string): Promise<void>;
  /** Copies the secret on a page to the clipboard. */
  copySecret(page: Page): Promise<void>;
}

export const mouse: InputMethod = {
  options: {},
  choose: async (page, role, name) => page.getByRole(role, { name, exact: true }).click(),
  type: async (page, label, text) => page.getByLabel(label, { exact: true }).fill(text),
  async copySecret(page) {
    await page.getByRole('button', { name: 'Copy Client secret' }).click();
    await page.getByText('Copied').waitFor();
  },
};

export const keyboard: InputMethod = {
  options: {},
  async choose(page, role, name) {
    await tabTo(page, role, name);
    await page.keyboard.press(role === 'link' || role === 'button' ? 'Enter' : 'Space');
  },
  async type(page, label, text) {
    await tabTo(page, 'textbox', label);
    await page.keyboard.type(text);
  },
  async copySecret(page) {
    // The secret has the focus, and the script selects it.
    await page.getByRole('button', { name: 'Copy Client secret' }).waitFor();
    await page.keyboard.press('Control+c');
  },
};

const withoutScript: InputMethod = {
  ...keyboard,
  options: { javaScriptEnabled: false },
  async copySecret(page) {
    await page.keyboard.press('Control+a');
    await page.keyboard.press('Control+c');
  },
};

export const INPUT_METHODS: Readonly<Record<string, InputMethod>> = {
  mouse,
  keyboard,
  'the keyboard, with JavaScript off': withoutScript,
};

/** Signs in on the login page. */
export async function signIn(
  page: Page,
  input: InputMethod,
  { email, password }: { readonly email: string; readonly password: string },
): Promise<void> {
  await input.type(page, 'Email', email);
  await input.type(page, 'Password', password);
  await input.choose(page, 'button', 'Sign in');
}

/** Presses Tab, or an arrow key among radio buttons, until an element has the focus. Each focus must be visible. */
async function tabTo(
  page: Page,
  role: 'link' | 'button' | 'radio' | 'checkbox' | 'textbox',
  name: string,
): Promise<void> {
  const goal = page.getByRole(role, { name, exact: true });
  await goal.waitFor();
  // Chromium gives the focus when it has drawn the page. A key that was pressed before would take it away.
  if ((await page.locator('[autofocus]').count()) > 0) await page.locator(':focus').waitFor();
  for (let presses = 0; presses < 60; presses += 1) {
    if ((await goal.and(page.locator(':focus')).count()) === 1) return;
    const atRadio = await page.evaluate<boolean>("document.activeElement.matches('[type=radio]')");
    await page.keyboard.press(role === 'radio' && atRadio ? 'ArrowDown' : 'Tab');
    const isVisible = await page.evaluate<boolean>(FOCUS_IS_VISIBLE);
    if (!isVisible)
      throw new Error(`The focus is not visible on the way to ${role} "${name}" on ${page.url()}`);
  }
  throw new Error(`Tab does not lead to ${role} "${name}" on ${page.url()}`);
}

const FOCUS_IS_VISIBLE = `(() => {
  const { activeElement, body } = document;
  const { outlineStyle, outlineWidth } = getComputedStyle(activeElement);
  return activeElement === body || (outlineStyle !== 'none' && parseFloat(outlineWidth) >= 2);
})()`;
