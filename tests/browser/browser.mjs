// The installed Chromium, driven by playwright-core; no browser is downloaded.

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { chromium } from 'playwright-core';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];

const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

// A headless browser with a profile of its own.
export function launch() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const paths = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  const executablePath = paths.find(isExecutable);
  if (!executablePath) throw new Error(`none of ${NAMES.join(', ')} is in PATH`);
  return chromium.launch({ executablePath, args: FLAGS });
}
