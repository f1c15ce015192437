// Reports of generated traces: each scenario of the folder scenarios/, analysed.

import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const target = process.env.COLLBENCH_TARGET;
if (!target) throw new Error('COLLBENCH_TARGET must name the folder with release/collbench-analyze');

// Where reports and screenshots are left for people to look at.
export const folder = join(target, 'browser');

function command(name, ...words) {
  execFileSync(join(target, 'release', `collbench-${name}`), words, { stdio: 'pipe' });
}

// Makes the report of a scenario; returns the path of its page. `editCommand` changes the command
// that the trace says was run, `edit` anything in its folder. Files of tests run at the same time: each names its folders.
export function makeReport(name, editCommand, folderName = name, edit = () => {}) {
  mkdirSync(folder, { recursive: true });
  const scenario = fileURLToPath(new URL(`scenarios/${name}.toml`, import.meta.url));
  const trace = join(folder, folderName);
  command('generate', '--force', scenario, trace);
  if (editCommand) {
    const path = join(trace, 'run.json');
    const run = JSON.parse(readFileSync(path, 'utf8'));
    run.command = editCommand(run.command);
    writeFileSync(path, JSON.stringify(run));
  }
  edit(trace);
  command('analyze', trace);
  return join(trace, 'report', 'index.html');
}
