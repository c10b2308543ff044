import { passTime } from '../harness/clock.ts';
import { beginOn, poll, registerDevice, startDevicePlatform } from '../devices/device.ts';
import { chromiumTest, openTab } from './chromium.ts';
import { INPUT_METHODS, signIn } from './input-methods.ts';

const test = chromiumTest();

const ANN = { email: 'ann@school.example', password: 'correct horse' };
const LINES = ['School CLI', 'See your schools', 'The request came from', 'Signed in as'];

for (const [name, input] of Object.entries(INPUT_METHODS)) {
  test(`by ${name}: type the code of a command line, sign in, compare the code and connect`, async (t) => {
    await using platform = await startDevicePlatform();
    const app = await registerDevice(platform);
    const scope = 'schools:read schools:write';
    const { device_code: code, user_code: userCode, ...device } = await beginOn(platform, app, { scope });
    await using page = await openTab({ ...input.options, viewport: { width: 390, height: 844 } });
    await page.goto(device.verification_uri);
    await page.getByRole('heading', { name: 'Connect a device', level: 1 }).waitFor();
    await input.type(page, 'Code', userCode.toLowerCase());
    await input.choose(page, 'button', 'Continue');
    await signIn(page, input, ANN);
    await page.getByText('Continue only if your device or command line shows exactly this code.').waitFor();
    t.is(await page.getByLabel('Code').inputValue(), userCode.toLowerCase());
    await input.choose(page, 'button', 'Continue');

    await page.getByRole('heading', { name: 'Connect School CLI on a device?', level: 1 }).waitFor();
    t.true(await page.getByText(userCode, { exact: true }).isVisible());
    for (const line of LINES) t.true(await page.getByText(line).first().isVisible(), line);
    const [deny, connect] = await Promise.all(
      ['Deny', 'Connect'].map(async (button) => page.getByRole('button', { name: button }).boundingBox()),
    );
    t.is(deny?.height, connect?.height);
    t.is(await page.evaluate('document.documentElement.scrollWidth'), 390);
    await input.choose(page, 'checkbox', 'Change your schools');
    await input.choose(page, 'button', 'Connect');
    await page.getByRole('heading', { name: 'Your device is connected', level: 1 }).waitFor();
    t.deepEqual(page.consoleMessages, []);
    const { body, status } = await poll(platform, app, code);
    t.is(status, 200);
    t.is(body?.['scope'], 'schools:read');

    const again = await beginOn(platform, app);
    await page.goto(again.verification_uri_complete);
    t.is(await page.getByLabel('Code').inputValue(), again.user_code);
    await input.choose(page, 'button', 'Continue');
    await input.choose(page, 'button', 'Deny');
    await page.getByRole('heading', { name: 'The device was refused', level: 1 }).waitFor();
    passTime(5);
    t.is((await poll(platform, app, again.device_code)).body?.['error'], 'access_denied');
    t.deepEqual(page.consoleMessages, []);
  });
}
