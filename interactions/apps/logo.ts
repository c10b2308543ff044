import { readFormFile } from '../../lib/http/form.ts';
import { seeOther } from '../navigation.ts';
import { afterwards } from './developer-request.ts';
import type { AppRequest } from './developer-request.ts';
import { formErrorOf, formOf } from './form.ts';
import { showSettings } from './settings.ts';

/** Saves the logo that a form was posted with. */
export async function saveLogo(request: AppRequest): Promise<void> {
  return setLogo(request, await readFormFile(request.ctx, 'logo'));
}

/** Removes the logo of an app. */
export async function removeLogo(request: AppRequest): Promise<void> {
  return setLogo(request, undefined);
}

async function setLogo(request: AppRequest, picture: Uint8Array | undefined): Promise<void> {
  const { client, ctx, developer, path, text } = request;
  try {
    await developer.setLogo(client.id, picture);
  } catch (error) {
    return showSettings(request, { form: formOf(client), ...formErrorOf(error, text) });
  }
  return seeOther(ctx, afterwards(path, 'saved'));
}
