// The report page in a browser: what it does with script, without, for everybody, and with names
// that mean harm.

import assert from 'node:assert/strict';
import { readFileSync, statSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { pathToFileURL } from 'node:url';

import { launch } from './browser.mjs';
import { folder, makeReport } from './reports.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const HARM = `</title></style></script><script>globalThis.broken=3</script><!--"'\u202e\u001b]0;x\u0007`;
const NAMES = ['four', 'sixty-four', 'thousand', 'hostile', 'inside'];
// Of so many ranks that their table is folded.
const FOLDED = ['sixty-four', 'thousand', 'inside'];

let browser;
const pages = {};

before(async () => {
  for (const name of NAMES) {
    const harm = name === 'hostile' ? (command) => [...command, HARM, 'x'.repeat(10_000_000)] : null;
    pages[name] = makeReport(name, harm);
  }
  browser = await launch();
});

after(() => browser?.close());

// Opens a report in a fresh context and runs `check` on it; then nothing may have been requested
// but the page, and nothing said in the console but what `check` returned.
async function withReport(name, options, check) {
  const { hash = '', ...context } = options;
  const opened = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...context });
  try {
    const page = await opened.newPage();
    const said = [];
    const requested = [];
    page.on('console', (message) => said.push(message.text()));
    page.on('pageerror', (error) => said.push(String(error)));
    opened.on('request', (request) => requested.push(request.url()));
    const url = pathToFileURL(pages[name]).href;
    await page.goto(url + hash);
    const expected = (await check(page)) ?? [];
    assert.equal(said.length, expected.length, said.join('\n'));
    expected.forEach((pattern, idx) => assert.match(said[idx], pattern));
    assert.deepEqual(new Set(requested.map((one) => one.split('#')[0])), new Set([url]));
  } finally {
    await opened.close();
  }
}

const visible = (page, selector) => page.locator(selector).filter({ visible: true }).count();
// The first picture is over time; this one is the first of an operation.
const OF_OPERATION = 'section.group';
const viewBox = (page) => page.locator(`${OF_OPERATION} svg.picture`).first().getAttribute('viewBox');
const frame = (page) => page.locator(`${OF_OPERATION} [role=application]`).first();
const tip = (page) => page.locator('.tip');

// What the marks of the first picture say, in order.
const titles = (page) => page.evaluate(() => {
  const picture = document.querySelector('svg.picture');
  return [...picture.querySelectorAll(':scope > * title')].map((title) => title.textContent);
});

// Points at a mark: at a point of the line that is its first.
const pointAtMark = async (page) => {
  await page.locator('svg.picture').first().scrollIntoViewIfNeeded();
  const { x, y } = await page.evaluate(() => {
    const title = document.querySelector('svg.picture > * title');
    const line = title.parentElement.querySelector('polyline, rect, circle, path');
    const point = line.getPointAtLength(line.getTotalLength() * 0.2);
    const { x, y } = point.matrixTransform(line.getScreenCTM());
    return { x, y };
  });
  await page.mouse.move(x, y);
};

for (const name of NAMES) {
  for (const colorScheme of ['light', 'dark']) {
    test(`${name}, ${colorScheme}: everybody can read it, on narrow screens too`, async () => {
      await withReport(name, { colorScheme }, async (page) => {
        for (const width of [400, 1280]) {
          await page.setViewportSize({ width, height: 900 });
          await page.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`), fullPage: true });
          const [wanted, given] = await page.evaluate(() => {
            const { scrollWidth, clientWidth } = document.documentElement;
            return [scrollWidth, clientWidth];
          });
          assert.ok(wanted <= given, `${wanted} px of content in ${given} px`);
        }
        // Evaluated, not added as a script: the policy of the page would not let it run.
        await page.evaluate(AXE);
        const violations = await page.evaluate(async () => {
          const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
          // To axe a picture is an image with a name; to walk through its marks takes long.
          for (const picture of document.querySelectorAll('svg.picture')) {
            picture.replaceChildren(...picture.querySelectorAll(':scope > title, :scope > desc'));
          }
          const { violations } = await globalThis.axe.run(document, { runOnly: tags });
          return violations.map(({ id, nodes }) => `${id}: ${nodes[0].html.slice(0, 200)}`);
        });
        assert.deepEqual(violations, []);
      });
    });
  }

  test(`${name}: the verdict and the picture of the whole run are seen without scrolling`, async () => {
    await withReport(name, {}, async (page) => {
      for (const [width, height] of [[1280, 800], [400, 800]]) {
        await page.setViewportSize({ width, height });
        await page.screenshot({ path: join(folder, `${name}-first-${width}.png`) });
        const seen = await page.evaluate(() => {
          const top = (selector) => document.querySelector(selector).getBoundingClientRect().top;
          const [verdict, picture, table] = ['.verdict', 'svg.picture', 'table.data'].map(top);
          return { inOrder: verdict < picture && picture < table, px: innerHeight - picture };
        });
        assert.ok(seen.inOrder);
        assert.ok(seen.px >= 150, `${seen.px} px of the picture at ${width} x ${height}`);
      }
    });
  });

  test(`${name}: all is there without script`, async () => {
    await withReport(name, { javaScriptEnabled: false }, async (page) => {
      assert.equal(await visible(page, 'table.data'), FOLDED.includes(name) ? 1 : 2);
      assert.match(await page.locator('.verdict').innerText(), /rank|host|known|nobody/i);
      const pictures = await page.locator('svg.picture').count();
      assert.ok(pictures >= 2);
      const folded = await page.locator('details:not([open]) svg.picture').count();
      assert.equal(await visible(page, 'svg.picture'), pictures - folded);
      await page.locator('details:not([open]) > summary').evaluateAll((all) => all.forEach((one) => one.click()));
      assert.equal(await visible(page, 'svg.picture'), pictures);
      assert.equal(await visible(page, 'table.data'), 2);
      assert.equal(await page.locator('button, select, input').count(), 0);
    });
  });
}

// In the fonts that are there, not in widths that were guessed.
for (const name of ['four', 'sixty-four', 'inside']) {
  test(`${name}: no text of a picture is cut, or lies on another`, async () => {
    await withReport(name, { javaScriptEnabled: false }, async (page) => {
      const faults = await page.evaluate(() => {
        const SLACK = 2;
        return [...document.querySelectorAll('svg.picture')].flatMap((picture) => {
          const heading = picture.closest('figure, details').querySelector('h3, h4').textContent;
          const { width, height } = picture.viewBox.baseVal;
          const boxes = [...picture.querySelectorAll('text')].map((text) => {
            // Where it is after all that moves or turns it.
            const to = picture.getScreenCTM().inverse().multiply(text.getScreenCTM());
            const { x, y, width, height } = text.getBBox();
            const ends = [[x, y], [x + width, y + height]].map(([x, y]) => new DOMPoint(x, y).matrixTransform(to));
            const [xs, ys] = [ends.map((end) => end.x), ends.map((end) => end.y)];
            return {
              words: text.textContent, left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys),
            };
          });
          const cut = boxes.filter((box) => box.left < -SLACK || box.top < -SLACK || box.right > width + SLACK || box.bottom > height + SLACK);
          const meet = (one, other) => Math.min(one.right, other.right) - Math.max(one.left, other.left) > SLACK
            // A line of text is higher than its letters.
            && Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top) > 2 * SLACK;
          const pairs = boxes.flatMap((one, at) => boxes.slice(at + 1).filter((other) => meet(one, other)).map((other) => [one, other]));
          return [
            ...cut.map((box) => `${heading}: "${box.words}" is cut`),
            ...pairs.map(([one, other]) => `${heading}: "${one.words}" on "${other.words}"`),
          ];
        });
      });
      assert.deepEqual(faults, []);
    });
  });
}

test('the policy stops scripts and requests that got into the page', async () => {
  await withReport('four', {}, async (page) => {
    const blocked = await page.evaluate(async () => {
      const directives = [];
      document.addEventListener('securitypolicyviolation', (event) => directives.push(event.effectiveDirective));
      const script = document.createElement('script');
      script.textContent = 'globalThis.broken = 1';
      document.body.append(script);
      const link = document.createElement('div');
      link.setAttribute('onclick', 'globalThis.broken = 2');
      document.body.append(link);
      link.click();
      await fetch('https://collbench.invalid/').catch(() => {});
      await new Promise((resolve) => { setTimeout(resolve, 50); });
      return directives;
    });
    assert.deepEqual(blocked.sort(), ['connect-src', 'script-src-attr', 'script-src-elem']);
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
    // Chromium speaks of the request twice.
    return Array(4).fill(/Content Security Policy/);
  });
});

test('names that mean harm are text, cut where nobody would read on', async () => {
  assert.ok(statSync(pages.hostile).size < 1_000_000);
  await withReport('hostile', {}, async (page) => {
    const text = await page.evaluate(() => document.documentElement.textContent);
    assert.ok(text.includes('</script><script>globalThis.broken=3</script><!--'), 'shown as it is');
    assert.ok(text.includes('<img src=x onerror=globalThis.broken=2>'), 'shown as it is');
    assert.doesNotMatch(text, /[\u202e\u001b\u0007\u0000]/);
    assert.equal(await page.locator('script').count(), 1);
    assert.equal(await page.locator('img').count(), 0);
    const first = await titles(page);
    await pointAtMark(page);
    assert.ok(first.includes(await tip(page).innerText()), 'also beside the pointer');
    await page.locator('table.data button').first().click();
    assert.equal(await page.evaluate(() => globalThis.broken), undefined);
  });
});

test('the pictures of one operation are shown at a time', async () => {
  await withReport('four', {}, async (page) => {
    assert.equal(await visible(page, 'section.group'), 1);
    const chosen = () => page.locator('section.group').filter({ visible: true }).locator('h3').innerText();
    const choice = page.getByLabel('Operation', { exact: true });
    await choice.selectOption({ index: 1 });
    assert.match(await chosen(), /^MPI_Barrier/);
    // Playwright hears of it later than the page.
    await page.waitForURL(/#operation-2$/);
    await choice.selectOption('all operations');
    assert.equal(await visible(page, 'section.group'), 3);
    await page.getByRole('link', { name: 'MPI_Bcast' }).click();
    // The page hears of its new address some time after the click.
    await page.waitForFunction(() => document.querySelectorAll('section.group:not([hidden])').length === 1);
    assert.match(await chosen(), /^MPI_Bcast/);
    assert.equal(await choice.inputValue(), 'operation-3');
    await page.emulateMedia({ media: 'print' });
    assert.equal(await visible(page, 'section.group'), 3, 'on paper all of them');
  });
});

test('on paper the bars of histograms are there, and no table or picture is cut', async () => {
  for (const name of ['four', 'sixty-four']) {
    // As wide as a page of A4 within its margins.
    await withReport(name, { viewport: { width: 680, height: 1000 } }, async (page) => {
      await page.emulateMedia({ media: 'print' });
      const { bars, wide } = await page.evaluate(() => ({
        bars: [...document.querySelectorAll('figure > .wide svg .bar')].map((bar) => bar.getBoundingClientRect().height),
        wide: [...document.querySelectorAll('.wide')].map((of) => ({
          over: of.scrollWidth - document.documentElement.clientWidth,
          tall: of.querySelector('svg.picture')?.getBoundingClientRect().height ?? 0,
        })),
      }));
      assert.ok(bars.length > 0 && bars.every((height) => height > 0), name);
      for (const { over, tall } of wide) assert.ok(over <= 0 && tall < 900, `${name}: ${over} ${tall}`);
    });
  }
});

test('an address leads to its operation, and to a table that is folded', async () => {
  await withReport('four', { hash: '#operation-3' }, async (page) => {
    const heading = page.locator('#operation-3');
    assert.ok(await heading.isVisible());
    assert.equal(await visible(page, 'section.group'), 1);
    const { y } = await heading.boundingBox();
    assert.ok(y >= 0 && y < 900, `in sight: ${y}`);
  });
  await withReport('thousand', { hash: '#ranks' }, async (page) => {
    assert.ok(await page.locator('#ranks ~ details table').isVisible());
  });
});

test('a mark says its figures at the pointer', async () => {
  await withReport('four', {}, async (page) => {
    const all = await titles(page);
    assert.ok(all.length >= 4);
    assert.ok(await tip(page).isHidden());
    await pointAtMark(page);
    assert.ok(all.includes(await tip(page).innerText()));
    assert.equal((await titles(page)).length, 0, 'the browser does not say it a second time');
    await page.mouse.move(1, 1);
    assert.ok(await tip(page).isHidden());
  });
});

test('a mark says its figures to the keyboard', async () => {
  await withReport('four', {}, async (page) => {
    const all = await titles(page);
    const said = () => page.locator('[role=status]').textContent();
    await page.getByRole('button', { name: 'reset zoom' }).first().focus();
    await page.keyboard.press('Tab');
    assert.equal(await tip(page).innerText(), all[0]);
    await page.keyboard.press('ArrowRight');
    assert.equal(await tip(page).innerText(), all[1]);
    assert.equal(await said(), all[1]);
    await page.keyboard.press('End');
    assert.equal(await said(), all.at(-1));
    await page.keyboard.press('Escape');
    assert.ok(await tip(page).isHidden());
  });
});

test('a picture zooms and moves by button, key, wheel and drag', async () => {
  await withReport('four', {}, async (page) => {
    const whole = await viewBox(page);
    const width = async () => Number((await viewBox(page)).split(' ')[2]);
    const full = await width();
    const tool = (name) => page.locator(OF_OPERATION).getByRole('button', { name }).first();
    const zoomIn = tool('Zoom in');
    const back = tool('reset zoom');
    await zoomIn.click();
    assert.ok(await width() < full);
    await back.click();
    assert.equal(await viewBox(page), whole);

    await frame(page).focus();
    await page.keyboard.press('+');
    const zoomed = await viewBox(page);
    assert.ok(await width() < full);
    await page.keyboard.press('Shift+ArrowRight');
    assert.notEqual(await viewBox(page), zoomed);
    await page.keyboard.press('0');
    assert.equal(await viewBox(page), whole);

    await frame(page).hover();
    await page.mouse.wheel(0, -100);
    assert.equal(await viewBox(page), whole, 'a wheel alone scrolls the page');
    await frame(page).hover();
    await page.keyboard.down('Control');
    await page.mouse.wheel(0, -300);
    await page.keyboard.up('Control');
    await page.waitForFunction((was) => (
      document.querySelector('section.group svg.picture').getAttribute('viewBox') !== was
    ), whole);
    assert.ok(await width() < full);

    const before = await viewBox(page);
    const { x, y } = await frame(page).boundingBox();
    await page.mouse.move(x + 300, y + 200);
    await page.mouse.down();
    await page.mouse.move(x + 250, y + 180);
    await page.mouse.up();
    assert.notEqual(await viewBox(page), before);
    assert.equal(await width(), Number(before.split(' ')[2]));
  });
});

test('waits over time zoom in time alone, and axis, rows and legend stay', async () => {
  await withReport('four', {}, async (page) => {
    const look = () => page.evaluate(() => {
      const svg = document.querySelector('svg.picture');
      const frame = svg.querySelector('.frame').getBoundingClientRect();
      const box = svg.getBoundingClientRect();
      const ticks = [...svg.querySelectorAll('.ticks text')].map((tick) => {
        const { left, right } = tick.getBoundingClientRect();
        return { at: (left + right) / 2, value: Number(tick.textContent) };
      });
      const words = [...svg.querySelectorAll('text')].filter((text) => {
        if (text.closest('.ticks, .plot')) return false;
        const { left, right } = text.getBoundingClientRect();
        return left >= box.left - 2 && right <= box.right + 2;
      }).map((text) => text.textContent);
      const cell = svg.querySelector('.plot .cell').getBoundingClientRect();
      return {
        ticks, words, left: frame.left, right: frame.right, cell: cell.width, from: cell.left,
      };
    });
    const whole = await look();
    for (let click = 0; click < 3; click += 1) await page.getByRole('button', { name: 'Zoom in' }).first().click();
    const zoomed = await look();
    assert.deepEqual(zoomed.words, whole.words);
    assert.ok(Math.abs(zoomed.cell / whole.cell - 1.5 ** 3) < 0.05, `${whole.cell} to ${zoomed.cell}`);
    // All ticks are below the plot, and closer to one another in time.
    assert.ok(zoomed.ticks.length >= 4);
    assert.ok(zoomed.ticks.every(({ at }) => at > zoomed.left - 1 && at < zoomed.right + 1));
    const step = ({ ticks }) => ticks[1].value - ticks[0].value;
    assert.ok(step(zoomed) < step(whole));
    // The time at a place of the screen, by the ticks around it and by the first cell.
    const [one, other] = zoomed.ticks;
    const perPx = (other.value - one.value) / (other.at - one.at);
    const ofCell = one.value + (zoomed.from - one.at) * perPx;
    assert.ok(Math.abs(ofCell) < 0.02 * step(whole), `the run begins at ${ofCell}`);
    // Further to the right, and back.
    await page.locator('[role=application]').first().focus();
    await page.keyboard.press('Shift+ArrowRight');
    assert.ok((await look()).ticks.at(-1).value > zoomed.ticks.at(-1).value);
    await page.getByRole('button', { name: 'reset zoom' }).first().click();
    assert.ok(Math.abs((await look()).cell - whole.cell) < 0.1);
  });
});

test('tables are sorted by their figures, with the keyboard', async () => {
  await withReport('sixty-four', {}, async (page) => {
    const keys = () => page.evaluate(() => {
      const table = document.querySelector('#operations ~ .wide table');
      const column = [...table.tHead.rows[0].cells].findIndex((head) => head.textContent === 'median call');
      return [...table.tBodies[0].rows].map((row) => Number(row.cells[column].dataset.key));
    });
    const head = page.locator('#operations ~ .wide').getByRole('columnheader', { name: 'median call' });
    await head.getByRole('button').focus();
    await page.keyboard.press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'descending');
    const falling = await keys();
    assert.deepEqual(falling, [...falling].sort((a, b) => b - a));
    assert.notEqual(falling[0], falling.at(-1));
    await page.keyboard.press('Enter');
    assert.equal(await head.getAttribute('aria-sort'), 'ascending');
    assert.deepEqual(await keys(), [...falling].sort((a, b) => a - b));
    await page.getByRole('button', { name: 'communicator' }).first().click();
    assert.equal(await page.locator('#operations ~ .wide [aria-sort]').count(), 1);
  });
});

test('what is not known comes last, however a table is sorted', async () => {
  await withReport('four', {}, async (page) => {
    const roots = () => page.evaluate(() => {
      const rows = document.querySelector('#operations ~ .wide tbody').rows;
      const heads = document.querySelector('#operations ~ .wide thead').rows[0].cells;
      const column = [...heads].findIndex((head) => head.textContent === 'root');
      return [...rows].map((row) => row.cells[column].textContent);
    });
    const sort = page.locator('#operations ~ .wide').getByRole('button', { name: 'root' });
    for (let click = 0; click < 2; click += 1) {
      await sort.click();
      assert.deepEqual(await roots(), ['0', '-', '-']);
    }
  });
});

test('a long table shows only the rows asked for', async () => {
  await withReport('sixty-four', {}, async (page) => {
    const rows = '#operations ~ .wide tbody tr';
    const all = await visible(page, rows);
    const filter = page.getByLabel('Filter rows').first();
    await filter.fill('COLUMNS');
    assert.equal(await visible(page, rows), 8);
    assert.equal(await page.locator('#operations ~ .bar output').innerText(), `8 of ${all} rows`);
    await filter.fill('');
    assert.equal(await visible(page, rows), all);
  });
});

test('the axes of a chart that is magnified stay in sight', async () => {
  await withReport('four', {}, async (page) => {
    const figure = page.locator('section.group:not([hidden]) figure').filter({ hasText: 'Durations of the instances' });
    const kept = () => figure.locator('.kept text').evaluateAll((all) => all.map(({ textContent }) => textContent));
    assert.deepEqual(await kept(), []);
    for (let click = 0; click < 3; click += 1) await figure.getByRole('button', { name: 'Zoom in' }).click();
    const words = await kept();
    const times = words.filter((text) => /\d [mu]s$/.test(text))
      .map((text) => Number(text.split(' ')[0]) * (text.endsWith('ms') ? 1e3 : 1));
    assert.ok(times.length >= 2, words.join(' '));
    // Both ends of the view: of 20 to 450 us a bit more than a quarter of the doublings.
    assert.ok(times[0] > 20 && times[1] < 450 && times[1] > 1.5 * times[0] && times[1] < 4 * times[0], words.join(' '));
    assert.ok(words.some((text) => /^\d+(\.\d+)?$/.test(text)), 'numbers of instances, too');
    assert.ok(words.includes('0') && !words.some((text) => text.startsWith('-')), `the feet of the bars: ${words.join(' ')}`);
    await figure.getByRole('button', { name: 'reset zoom' }).click();
    assert.deepEqual(await kept(), []);
  });
});

test('bars of durations are narrower where they are magnified, and say how many instances they have', async () => {
  for (const name of ['four', 'sixty-four']) {
    // eslint-disable-next-line no-await-in-loop
    await withReport(name, {}, async (page) => {
      const figure = page.locator('section.group:not([hidden]) figure').filter({ hasText: 'Durations of the instances' });
      const tools = figure.getByRole('group', { name: 'Zoom' });
      const said = () => tools.locator('output').innerText();
      const look = () => figure.evaluate((own) => {
        const svg = own.querySelector('svg.picture');
        const bars = [...svg.querySelectorAll('.bar[data-counts]')];
        return bars.map((bar) => {
          const [, , ...counts] = bar.dataset.counts.split(' ').map(Number);
          const [whole] = [...bar.children].filter((child) => child.localName === 'rect');
          const parts = [...bar.querySelectorAll('.fine rect')].map((part) => ({
            x: Number(part.getAttribute('x')), width: Number(part.getAttribute('width')), height: Number(part.getAttribute('height')),
          }));
          const of = ['x', 'width', 'height'].map((field) => Number(whole.getAttribute(field)));
          return {
            counts, parts, x: of[0], width: of[1], height: of[2], opacity: getComputedStyle(whole).opacity,
          };
        });
      });
      assert.equal(await said(), '8 bars for each doubling');
      assert.ok((await look()).every(({ parts, opacity }) => parts.length === 0 && opacity === '1'));
      for (let click = 0; click < 6; click += 1) await tools.getByRole('button', { name: 'Zoom in' }).click();
      assert.equal(await said(), '64 bars for each doubling');
      const bars = await look();
      assert.ok(bars.length > 3);
      const highest = bars.reduce((one, other) => (other.height > one.height ? other : one));
      const sum = (counts) => counts.reduce((all, n) => all + n, 0);
      const ofOne = highest.height / sum(highest.counts);
      for (const { counts, parts, x, width, opacity } of bars) {
        assert.equal(opacity, '0');
        assert.equal(parts.length, counts.filter((n) => n > 0).length);
        const wanted = counts.filter((n) => n > 0);
        parts.forEach((part, at) => {
          assert.ok(part.x >= x - 0.1 && part.x + part.width <= x + width + 0.1, 'within its bar');
          const height = wanted[at] * ofOne;
          assert.ok(Math.abs(part.height - Math.max(height, 3 / 8)) < 0.01, `${part.height} ${height}`);
        });
      }
      // What the one that is in sight says.
      await figure.locator('.wide').last().evaluate((frame) => frame.scrollIntoView({ block: 'center' }));
      const shown = await figure.locator('.wide').last().boundingBox();
      const point = await figure.evaluate((own, box) => {
        const all = [...own.querySelectorAll('.fine rect')].map((part) => part.getBoundingClientRect());
        const inside = all.find(({ x, right, bottom, height }) => (
          x > box.x + 5 && right < box.x + box.width - 5 && bottom - 2 < box.y + box.height && height > 4
        ));
        return inside && { x: (inside.x + inside.right) / 2, y: inside.bottom - 2 };
      }, shown);
      assert.ok(point, 'the feet of bars stay in sight');
      await page.mouse.move(point.x, point.y);
      assert.match(await tip(page).innerText(), /instances?\nof these [\d.]+ \ws to [\d.]+ \ws: \d+ instances?$/);
      await tools.getByRole('button', { name: 'reset zoom' }).click();
      assert.ok((await look()).every(({ parts, opacity }) => parts.length === 0 && opacity === '1'));
    });
  }
});
