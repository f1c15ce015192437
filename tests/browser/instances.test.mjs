// Single instances on the report page: every way that leads to one, their timelines, and the filters.

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { launch } from './browser.mjs';
import { makeReport } from './reports.mjs';

const NAMES = ['four', 'sixty-four', 'thousand', 'inside', 'sites'];

// Kept functions and lines of one place, which mean harm.
const HARM = '</title></style></script><script>globalThis.broken=4</script><img src=x onerror=globalThis.broken=5>\u202e\u001b]0;x\u0007';
const SYMBOLS = {
  schema: 'collbench.symbols/1',
  addresses: [{
    module: '/opt/solver',
    build_id: null,
    offset: 4096,
    functions: Array.from({ length: 300 }, (_, i) => ({
      function: HARM + 'x'.repeat(100_000), file: `/${HARM}.c`, line: 4294967295 - i, inlined: i < 299,
    })),
  }],
};
const keepHarm = (trace) => writeFileSync(join(trace, 'symbols.json'), JSON.stringify(SYMBOLS));

let browser;
const pages = {};

before(async () => {
  for (const name of NAMES) pages[name] = makeReport(name, null, `instances-${name}`);
  pages.symbols = makeReport('sites', null, 'instances-symbols', keepHarm);
  browser = await launch();
});

after(() => browser?.close());

// Opens a report and runs `check` on it; nothing may be said in the console.
async function withReport(name, check, { hash = '', ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  try {
    const page = await context.newPage();
    const said = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    await page.goto(pathToFileURL(pages[name]).href + hash);
    await check(page);
    assert.deepEqual(said, []);
  } finally {
    await context.close();
  }
}

const inSight = (page) => page.locator('details.instance').filter({ visible: true });
const heading = (page) => inSight(page).locator('h3');
const idInSight = (page) => inSight(page).locator('.timeline').getAttribute('id');
// The page hears of its new address some time after a click.
const arriveSomewhere = async (page) => {
  await page.waitForURL(/#instance-\d+$/);
  await page.waitForFunction(() => {
    const heading = document.getElementById(globalThis.location.hash.slice(1));
    return heading && !heading.closest('details').hidden;
  });
};
const arrive = async (page, number) => {
  await page.waitForURL(new RegExp(`#instance-${number}$`));
  await arriveSomewhere(page);
  assert.equal(await inSight(page).count(), 1);
  assert.equal(await idInSight(page), `instance-${number}`);
  const box = await heading(page).boundingBox();
  assert.ok(box.y >= 0 && box.y < 900, `in sight: ${box.y}`);
};

// What the calls of a rank in the timeline in sight say.
const callsOf = (page, rank) => page.evaluate((wanted) => {
  const svg = document.querySelector('details.instance:not([hidden]) svg.picture');
  const groups = [...svg.querySelectorAll(`.plot > [data-ranks="${wanted}"]:not(.beside)`)];
  return groups.map((group) => ({
    waits: group.querySelector('.wait') !== null,
    works: group.querySelector('.work') !== null,
  }));
}, rank);

// A point of a mark, in sight.
const pointOn = async (page, selector, nth = 0) => {
  const mark = page.locator(selector).nth(nth);
  await mark.scrollIntoViewIfNeeded();
  const { x, y, width, height } = await mark.boundingBox();
  return { x: x + width / 2, y: y + height / 2 };
};

test('one instance is shown at a time, the dearest first', async () => {
  await withReport('four', async (page) => {
    assert.equal(await inSight(page).count(), 1);
    assert.equal(await idInSight(page), 'instance-1');
    const waits = await page.locator('details.instance h3').evaluateAll((all) => all.map(({ textContent }) => {
      const [, figure, unit] = /ranks wait ([\d.,]+) (ns|us|ms)/.exec(textContent) ?? [null, '0', 'ns'];
      return Number(figure.replace(',', '')) * { ns: 1, us: 1e3, ms: 1e6 }[unit];
    }));
    assert.ok(waits.length > 20);
    assert.deepEqual(waits, [...waits].sort((a, b) => b - a));
    const choice = page.getByLabel('Instance', { exact: true });
    await choice.selectOption({ index: 4 });
    await page.waitForURL(/#instance-5$/);
    assert.equal(await idInSight(page), 'instance-5');
    await page.getByRole('button', { name: 'previous instance' }).click();
    assert.equal(await idInSight(page), 'instance-4');
    await page.getByRole('button', { name: 'next instance' }).click();
    assert.equal(await idInSight(page), 'instance-5');
  });
  await withReport('four', (page) => arrive(page, 3), { hash: '#instance-3' });
});

test('without script all instances are there, folded but for the first', async () => {
  await withReport('four', async (page) => {
    const all = await page.locator('details.instance').count();
    assert.ok(all > 20);
    assert.equal(await page.locator('details.instance[open]').count(), 1);
    await page.locator('details.instance > summary').nth(1).click();
    assert.ok(await page.locator('details.instance svg.picture').nth(1).isVisible());
  }, { javaScriptEnabled: false });
});

test('without script a link opens the timeline that it leads to', async () => {
  await withReport('four', async (page) => {
    assert.ok(await page.locator('#instance-4 svg.picture').isVisible());
    await page.locator('a.worst').first().click();
    const number = /instance-\d+$/.exec(page.url())[0];
    assert.ok(await page.locator(`#${number} svg.picture`).isVisible());
  }, { javaScriptEnabled: false, hash: '#instance-4' });
});

test('the command that exports an instance is beside its timeline', async () => {
  await withReport('four', async (page) => {
    const of = inSight(page).locator('.export');
    assert.ok(!(await of.locator('code').isVisible()));
    await of.locator('summary').click();
    assert.match(await of.innerText(), /collbench-export .* --from [\d.]+ --to [\d.]+ --to perfetto -o instance-1\.pftrace/);
  });
});

test('a wait over time leads to an instance in which that rank waited then', async () => {
  await withReport('four', async (page) => {
    const cell = await page.evaluate(() => {
      const row = document.querySelector('svg.picture [data-ranks="1"]');
      const cells = [...row.querySelectorAll('.cell[data-to]')];
      row.querySelectorAll('.cell').forEach((one) => one.removeAttribute('id'));
      cells[3].id = 'wanted';
      return { to: cells[3].dataset.to, n: cells.length };
    });
    assert.ok(cell.n > 10);
    const { x, y } = await pointOn(page, '#wanted');
    await page.mouse.click(x, y);
    await arrive(page, cell.to);
    assert.ok((await callsOf(page, '1')).some(({ waits }) => waits));
  });
});

test('a wait over time in a band of ranks leads on, too', async () => {
  await withReport('thousand', async (page) => {
    const wanted = await page.evaluate(() => {
      const row = document.querySelector('svg.picture [data-columns]');
      row.id = 'wanted';
      const targets = row.dataset.columns.split(',');
      const { left, right } = document.querySelector('svg.picture .ticks').dataset;
      const at = targets.findIndex(Boolean);
      const box = row.ownerSVGElement.getBoundingClientRect();
      const scale = box.width / row.ownerSVGElement.viewBox.baseVal.width;
      const step = (Number(right) - Number(left)) / targets.length;
      return { to: targets[at], x: (Number(left) + step * (at + 0.5)) * scale };
    });
    const { y } = await pointOn(page, '#wanted');
    const { x } = await page.locator('svg.picture').first().boundingBox();
    await page.mouse.click(x + wanted.x, y);
    await arrive(page, wanted.to);
  });
});

test('a bar of durations leads to an instance that took about so long', async () => {
  await withReport('four', async (page) => {
    const bars = page.locator('section.group:not([hidden]) .bar[data-to]');
    assert.ok(await bars.count() > 2);
    // One that is high enough to be in sight with the bar above.
    const heights = await bars.evaluateAll((all) => all.map((bar) => bar.querySelector('rect').getBoundingClientRect().height));
    const highest = bars.nth(heights.indexOf(Math.max(...heights)));
    const operation = await page.locator('section.group:not([hidden]) h3').innerText();
    const to = await highest.getAttribute('data-to');
    await highest.locator('rect').first().click();
    await arrive(page, to);
    assert.equal((await heading(page).innerText()).split(' ')[0], operation.split(',')[0]);
  });
});

test('the keyboard leads from a mark to its instance', async () => {
  await withReport('four', async (page) => {
    const to = await page.evaluate(() => document.querySelector('svg.picture .cell[data-to]').dataset.to);
    const steps = await page.evaluate(() => {
      const marks = [...document.querySelectorAll('svg.picture')][0].querySelectorAll(':scope > * title');
      return [...marks].findIndex((title) => title.parentElement.dataset.to);
    });
    await page.locator('[role=application]').first().focus();
    await page.keyboard.press('Home');
    for (let step = 0; step < steps; step += 1) await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await arrive(page, to);
  });
});

test('from the verdict to the messages of the worst instance in two clicks', async () => {
  await withReport('inside', async (page) => {
    const link = page.locator('.verdict a.worst').first();
    const to = (await link.getAttribute('href')).replace('#instance-', '');
    await link.click();
    await arrive(page, to);
    assert.ok(await inSight(page).locator('.message polyline').count() > 20);
  });
  await withReport('four', async (page) => {
    await page.locator('.verdict a.worst').first().click();
    await arriveSomewhere(page);
    assert.match(await heading(page).innerText(), /rank 2 last/);
  });
});

test('links beside the pictures of an operation lead to its instances', async () => {
  await withReport('four', async (page) => {
    const link = page.locator('section.group:not([hidden]) .single a').first();
    const to = (await link.getAttribute('href')).replace('#instance-', '');
    await link.click();
    await arrive(page, to);
  });
});

test('a timeline zooms in time alone: rows and axis stay, bars are where the axis says', async () => {
  await withReport('inside', async (page) => {
    const look = () => page.evaluate(() => {
      const svg = document.querySelector('details.instance:not([hidden]) svg.picture');
      const middle = (box) => (box.left + box.right) / 2;
      const ticks = [...svg.querySelectorAll('.ticks text')].map((tick) => (
        { at: middle(tick.getBoundingClientRect()), value: Number(tick.textContent) }
      ));
      const words = [...svg.querySelectorAll('text')].filter((text) => !text.closest('.ticks, .plot'));
      const head = svg.querySelector('.head').getBoundingClientRect();
      const line = svg.querySelector('.arrival').getBoundingClientRect();
      return { ticks, words: words.map((text) => text.textContent), head: head.width, last: middle(line) };
    });
    const timeOf = ({ ticks, last }) => {
      const [one, other] = ticks;
      return one.value + ((last - one.at) * (other.value - one.value)) / (other.at - one.at);
    };
    const whole = await look();
    const tools = page.locator('details.instance:not([hidden])');
    for (let click = 0; click < 2; click += 1) await tools.getByRole('button', { name: 'Zoom in' }).click();
    const zoomed = await look();
    assert.deepEqual(zoomed.words, whole.words);
    assert.ok(Math.abs(zoomed.head - whole.head) < 0.5, 'heads of arrows keep their width');
    const step = ({ ticks }) => ticks[1].value - ticks[0].value;
    assert.ok(step(zoomed) < step(whole));
    assert.ok(Math.abs(timeOf(zoomed) - timeOf(whole)) < 0.02 * step(whole), `${timeOf(zoomed)} ${timeOf(whole)}`);
    await tools.getByRole('button', { name: 'reset zoom' }).click();
    assert.ok(Math.abs((await look()).last - whole.last) < 0.5);
  });
});

test('a rank that is pointed at is marked in the other pictures in sight', async () => {
  await withReport('four', async (page) => {
    const marked = () => page.evaluate(() => {
      const marks = [...document.querySelectorAll('svg.picture .same')];
      return [...new Set(marks.map((mark) => mark.dataset.ranks))];
    });
    const pictures = () => page.evaluate(() => (
      new Set([...document.querySelectorAll('svg.picture .same')].map((mark) => mark.ownerSVGElement.id)).size
    ));
    const { x, y } = await pointOn(page, 'details.instance:not([hidden]) [data-ranks="1"] .wait');
    await page.mouse.move(x, y);
    const all = await marked();
    assert.ok(all.includes('1'));
    // A row of several ranks is marked for each of them.
    const has = (ranks) => {
      const [first, last = first] = ranks.split('-').map(Number);
      return first <= 1 && last >= 1;
    };
    assert.ok(all.every(has), all.join(' '));
    assert.ok(await pictures() >= 3, 'timeline, waits over time, order of arrival');
    await page.mouse.move(1, 1);
    assert.deepEqual(await marked(), []);
  });
});

test('a node of a tree marks its rank in the matrix of messages and in the timeline', async () => {
  await withReport('inside', async (page) => {
    const { x, y } = await pointOn(page, 'section.group:not([hidden]) .process[data-ranks="8"] rect');
    await page.mouse.move(x, y);
    const marked = await page.evaluate(() => [...document.querySelectorAll('svg.picture .same')].map((mark) => (
      [...mark.classList].find((name) => name !== 'same')
    )));
    for (const kind of ['process', 'cell', 'call', 'ranks']) assert.ok(marked.includes(kind), `${kind}: ${marked}`);
  });
});

test('filters leave operations, communicators and ranks out everywhere', async () => {
  await withReport('sixty-four', async (page) => {
    const filters = page.getByRole('group', { name: 'Show only' });
    const rows = '#operations ~ .wide tbody tr';
    const visible = (selector) => page.locator(selector).filter({ visible: true }).count();
    const all = await visible(rows);
    await filters.getByLabel('Operation').selectOption('MPI_Scan');
    const few = await visible(rows);
    assert.ok(few > 0 && few < all);
    assert.equal(await filters.locator('output').innerText(), `${few} of ${all} operations`);
    assert.match(await heading(page).innerText(), /^MPI_Scan/);
    const offered = await page.getByLabel('Instance', { exact: true }).locator('option').allInnerTexts();
    assert.ok(offered.length > 0 && offered.every((text) => text.startsWith('MPI_Scan')));
    assert.match(await page.locator('section.group').filter({ visible: true }).locator('h3').innerText(), /^MPI_Scan/);
    await filters.getByRole('button', { name: 'Show everything' }).click();
    assert.equal(await visible(rows), all);

    await filters.getByLabel('Ranks or host').fill('5,9-10');
    await page.locator('#ranks ~ details').evaluate((details) => details.setAttribute('open', ''));
    assert.equal(await visible('#ranks ~ details tbody tr'), 3);
    const picked = await page.evaluate(() => {
      const svg = document.querySelector('svg.picture.chosen');
      return [...svg.querySelectorAll('.picked')].map((mark) => mark.dataset.ranks);
    });
    assert.deepEqual(picked, ['5', '9', '10']);
    await filters.getByLabel('Ranks or host').fill('no such host');
    assert.equal(await visible('#ranks ~ details tbody tr'), 0);
    assert.equal(await inSight(page).count(), 0);
    await filters.getByLabel('Ranks or host').fill('');
    assert.equal(await inSight(page).count(), 1);
  });
});

test('filters leave places in the program, communicators, phases and hosts out', async () => {
  await withReport('sites', async (page) => {
    const filters = page.getByRole('group', { name: 'Show only' });
    const visible = (selector) => page.locator(selector).filter({ visible: true }).count();
    const operations = '#operations ~ .wide tbody tr';
    const sites = '#sites ~ .wide tbody tr';
    assert.equal(await visible(sites), 3);
    const headings = () => page.getByLabel('Instance', { exact: true }).locator('option').allInnerTexts();
    const n = (await headings()).length;

    await filters.getByLabel('Called at').selectOption('solver+0x2000');
    assert.equal(await visible(sites), 1);
    assert.equal(await visible(operations), 1);
    const left = (await headings()).length;
    assert.ok(left > 0 && left < n, `${left} of ${n}`);
    assert.match(await inSight(page).locator('svg.picture').textContent(), /called at solver\+0x2000/);
    await filters.getByLabel('Called at').selectOption('');
    assert.equal(await visible(sites), 3);

    await filters.getByLabel('Phase').selectOption('2');
    assert.ok((await headings()).every((text) => text.startsWith('MPI_Bcast')));
    assert.ok((await headings()).length > 0);
    await filters.getByLabel('Phase').selectOption('');

    await filters.getByLabel('Ranks or host').fill('n02');
    const ranks = await page.locator('#ranks ~ .wide tbody tr').filter({ visible: true }).locator('th').allInnerTexts();
    assert.deepEqual(ranks, ['4', '5', '6', '7']);
    const picked = await page.evaluate(() => (
      [...document.querySelector('svg.picture.chosen').querySelectorAll('.picked')].map((mark) => mark.dataset.ranks)
    ));
    assert.deepEqual(picked, ['4', '5', '6', '7']);
  });
  await withReport('sixty-four', async (page) => {
    const filters = page.getByRole('group', { name: 'Show only' });
    const column = await page.locator('#operations ~ .wide thead th').allInnerTexts();
    const at = column.indexOf('communicator');
    const names = () => page.locator('#operations ~ .wide tbody tr').filter({ visible: true })
      .evaluateAll((rows, cell) => [...new Set(rows.map((row) => row.cells[cell].textContent))], at);
    const [wanted] = (await names()).filter((name) => name !== 'MPI_COMM_WORLD');
    await filters.getByLabel('Communicator').selectOption(wanted);
    assert.deepEqual(await names(), [wanted]);
  });
});

test('names of places in the program are text', async () => {
  await withReport('sites', async (page) => {
    const filters = page.getByRole('group', { name: 'Show only' });
    const hostile = await filters.getByLabel('Called at').locator('option', { hasText: 'onerror' }).innerText();
    assert.match(hostile, /^<img src=x onerror=/);
    await filters.getByLabel('Called at').selectOption(hostile);
    assert.match(await heading(page).innerText(), /^MPI_Bcast/);
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
    assert.equal(await page.locator('img').count(), 0);
  });
});

test('kept names of functions and files are text, cut where nobody would read on', async () => {
  await withReport('symbols', async (page) => {
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
    assert.equal(await page.locator('img').count(), 0);
    const content = await page.content();
    assert.ok(content.includes('globalThis.broken=5') && content.length < 3_000_000);
  });
});

test('the one that is late is marked where the others wait for it', async () => {
  await withReport('sites', async (page) => {
    await page.locator('.verdict a.worst').first().click();
    await arriveSomewhere(page);
    assert.match(await heading(page).innerText(), /rank 5 last/);
    const svg = inSight(page).locator('svg.picture');
    const [late, arrival] = await Promise.all([svg.locator('.plot .late'), svg.locator('.arrival').first()].map(
      (mark) => mark.boundingBox(),
    ));
    assert.ok(Math.abs(late.x + late.width - (arrival.x + arrival.width / 2)) < 2, 'up to its arrival');
    const row = await svg.locator('.plot [data-ranks="5"]:not(.beside)').boundingBox();
    assert.ok(late.y > row.y && late.y < row.y + 26, 'in its row');
    assert.match(await svg.textContent(), /late: a cause of waiting/);
  });
});

test('waits over time get shorter intervals when they are zoomed, and still lead to instances', async () => {
  for (const name of ['four', 'thousand']) {
    // eslint-disable-next-line no-await-in-loop
    await withReport(name, async (page) => {
      const tools = page.getByRole('group', { name: 'Zoom' }).first();
      const length = async () => {
        const [, figure, unit] = /intervals of ([\d.]+) (\w+)/.exec(await tools.locator('output').innerText());
        return Number(figure) * { us: 1, ms: 1e3, s: 1e6 }[unit];
      };
      const whole = await length();
      assert.equal(await page.locator('svg.picture .fine').count(), 0);
      const label = await page.locator('svg.picture').first().locator('text', { hasText: 'rank' }).allTextContents();
      for (let click = 0; click < 5; click += 1) await tools.getByRole('button', { name: 'Zoom in' }).click();
      assert.equal(whole / await length(), 4);
      assert.deepEqual(
        await page.locator('svg.picture').first().locator('text', { hasText: 'rank' }).allTextContents(),
        label,
        'names of rows stay',
      );
      // Shades of all columns in sight, on each row, within the plot.
      const drawn = await page.evaluate(() => {
        const svg = document.querySelector('svg.picture');
        const rows = [...svg.querySelectorAll('[data-finer]')];
        return rows.map((row) => [...row.querySelectorAll('.fine path')].map((path) => path.getAttribute('d')).join('').split('M').length - 1);
      });
      // The rank that is waited for is in no call most of the time.
      assert.ok(drawn.every((n) => n > 0), drawn.join(' '));
      assert.ok(drawn.filter((n) => n > 4).length >= drawn.length - 1, drawn.join(' '));
      const row = page.locator('svg.picture [data-finer]').last();
      await row.evaluate((one) => one.scrollIntoView({ block: 'center' }));
      const { y, height } = await row.boundingBox();
      const frame = await page.locator('svg.picture').first().locator('.frame').last().boundingBox();
      let to = null;
      for (let part = 0.05; part < 1 && !to; part += 0.05) {
        const point = { x: frame.x + frame.width * part, y: y + height / 2 };
        await page.mouse.move(point.x, point.y);
        assert.match(
          await page.locator('.tip').innerText(),
          /[\d.]+ \ws to [\d.]+ \ws: ((at least )?[\d.]+ % of the time waiting|no call|wait not known)$/,
        );
        if (await page.locator('svg.picture').first().evaluate((svg) => svg.classList.contains('leading'))) to = point;
      }
      assert.ok(to, 'a wait that leads on');
      await page.mouse.click(to.x, to.y);
      await page.waitForURL(/#instance-\d+$/);
      await page.waitForFunction(() => !document.querySelector(window.location.hash).closest('details').hidden);
      await tools.getByRole('button', { name: 'reset zoom' }).click();
      assert.equal(await length(), whole);
      assert.equal(await page.locator('svg.picture .fine').count(), 0);
    });
  }
});

test('an outlier that is told of leads to its timeline', async () => {
  await withReport('sites', async (page) => {
    const told = page.locator('main li', { has: page.getByRole('link', { name: 'its timeline' }) }).first();
    const [operation] = /MPI_\w+/.exec(await told.innerText());
    const link = told.getByRole('link', { name: 'its timeline' });
    const to = (await link.getAttribute('href')).replace('#instance-', '');
    await link.click();
    await arrive(page, to);
    assert.match(await heading(page).innerText(), new RegExp(`^${operation} .*rank 0 last, outlier$`));
  });
});

test('by keyboard alone, the verdict leads to the messages of the worst instance', async () => {
  await withReport('inside', async (page) => {
    const focused = () => page.evaluate(() => ({
      is_worst: document.activeElement.matches('.verdict a.worst'),
      is_timeline: document.activeElement.closest('details.instance:not([hidden])') !== null
        && document.activeElement.matches('[role=application]'),
      hash: document.activeElement.hash ?? '',
    }));
    const until = async (wanted, most) => {
      for (let press = 0; press < most; press += 1) {
        await page.keyboard.press('Tab');
        const now = await focused();
        if (now[wanted]) return now;
      }
      throw new Error(`Tab does not come to ${wanted}`);
    };
    const { hash } = await until('is_worst', 30);
    await page.keyboard.press('Enter');
    await arrive(page, hash.replace('#instance-', ''));
    // The link moved on to the instance: its picture is a few steps away, and its marks say what they are.
    await until('is_timeline', 12);
    const tip = page.locator('.tip');
    await page.keyboard.press('End');
    assert.match(await tip.innerText(), /^rank \d+ to rank \d+: [\d,]+ bytes?\nsent at /);
  });
});
