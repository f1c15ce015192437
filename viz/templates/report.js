// Adds to a page that is complete without it. What it needs stands in the page: titles of marks,
// headings, keys of cells. Text of the page goes back into it as text, never as markup.
const make = (tag, attributes = {}, text = '') => {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.textContent = text;
  return element;
};
const button = (text, label, action) => {
  const made = make('button', { type: 'button', 'aria-label': label }, text);
  made.addEventListener('click', action);
  return made;
};

// What a mark says: beside the pointer, and spoken where the keyboard goes through the marks.
const tip = make('div', { class: 'tip', 'aria-hidden': 'true' });
tip.hidden = true;
const spoken = make('div', { class: 'apart', role: 'status' });
document.body.append(tip, spoken);

const showTip = (text, x, y) => {
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const room = { width: document.documentElement.clientWidth, height: window.innerHeight };
  const left = x + 14 + width > room.width ? x - 14 - width : x + 14;
  const top = y + 14 + height > room.height ? y - 14 - height : y + 14;
  tip.style.left = `${Math.max(4, Math.min(left, room.width - width - 4))}px`;
  tip.style.top = `${Math.max(4, top)}px`;
};
const hideTip = () => { tip.hidden = true; };

// Ranks as ranges: of `0-3,8` 0 to 3 and 8.
const rangesOf = (text) => text.split(/[ ,]+/).filter(Boolean).map((part) => {
  const [first, last = first] = part.split('-').map(Number);
  return [first, last];
});
const meet = (some, others) => some.some(([first, last]) => (
  others.some(([from, to]) => first <= to && from <= last)
));

// A rank that is marked in one picture is marked in all that are in sight. Ranks that were chosen stay marked.
const marking = {
  chosen: [],
  parsed: new WeakMap(),

  rangesOf(element) {
    if (!this.parsed.has(element)) this.parsed.set(element, rangesOf(element.dataset.ranks));
    return this.parsed.get(element);
  },

  show(pointed = []) {
    for (const svg of document.querySelectorAll('svg.picture')) {
      const is_seen = svg.getClientRects().length > 0;
      svg.classList.toggle('chosen', is_seen && this.chosen.length > 0);
      if (!is_seen) continue;
      for (const mark of svg.querySelectorAll('[data-ranks]')) {
        const ranks = this.rangesOf(mark);
        mark.classList.toggle('same', meet(ranks, pointed));
        mark.classList.toggle('picked', meet(ranks, this.chosen));
      }
    }
  },

  // Of a mark, or of none.
  point(mark) {
    const of = mark?.closest('[data-ranks]') ?? null;
    if (of === this.of) return;
    this.of = of;
    this.show(of ? this.rangesOf(of) : []);
  },

  choose(ranges) {
    this.chosen = ranges;
    this.show();
  },
};

class Picture {
  constructor(svg) {
    this.svg = svg;
    this.frame = svg.parentElement;
    const { x, y, width, height } = svg.viewBox.baseVal;
    this.whole = { x, y, width, height };
    this.view = this.whole;
    this.texts = null;
    this.at = -1;
    this.frame.setAttribute('role', 'application');
    this.frame.setAttribute('aria-roledescription', 'picture');
    this.axes = new KeptAxes(this);
    this.addTools();
    this.bars = FinerBars.fit(svg) ? new FinerBars(this) : null;
    this.listen();
  }

  // Marks with what they say. The titles are taken out, lest the browser show them as well.
  get marks() {
    if (!this.texts) {
      this.texts = new Map();
      for (const title of this.svg.querySelectorAll(':scope > * title')) {
        this.texts.set(title.parentElement, title.textContent);
        title.remove();
      }
    }
    return this.texts;
  }

  markAt(element) {
    let mark = element;
    while (mark && mark !== this.svg && !this.marks.has(mark)) mark = mark.parentElement;
    return this.marks.has(mark) ? mark : null;
  }

  // What a mark says, at a point of the screen.
  textAt(mark, event) {
    const more = this.bars?.textAt(mark, this.pointOf(event).x) ?? '';
    return [this.marks.get(mark), more].filter(Boolean).join('\n');
  }

  addTools() {
    const tools = make('div', { class: 'tools', role: 'group', 'aria-label': 'Zoom' });
    tools.append(
      button('+', 'Zoom in', () => this.zoom(1.5)),
      button('−', 'Zoom out', () => this.zoom(1 / 1.5)),
      button('reset', 'reset zoom', () => this.show(this.whole)),
    );
    this.frame.before(tools);
    this.tools = tools;
  }

  show(view) {
    const { x, y, width, height } = view;
    this.view = view;
    this.svg.setAttribute('viewBox', `${x} ${y} ${width} ${height}`);
    this.axes.show(view);
    this.bars?.show(view);
    this.svg.classList.toggle('zoomed', width !== this.whole.width);
    hideTip();
  }

  // Keeps the point (x, y) of the picture where it is: by default in its middle, or the feet of bars in sight.
  zoom(factor, x = this.view.x + this.view.width / 2, y = null) {
    const least = this.whole.width / (this.deepest ?? 40);
    const width = Math.max(least, Math.min(this.view.width / factor, this.whole.width));
    const scale = width / this.view.width;
    const top = y === null ? this.topFor(width) : y - (y - this.view.y) * scale;
    this.place(x - (x - this.view.x) * scale, top, width);
  }

  // Where a view of this width begins.
  topFor(width) {
    const { whole, view } = this;
    const height = (whole.height * width) / whole.width;
    const foot = this.bars?.bars[0].bottom;
    if (foot > view.y && foot < view.y + view.height) return foot + KeptAxes.HIGH * (width / whole.width) - height;
    return view.y + (view.height - height) / 2;
  }

  place(x, y, width) {
    const { whole } = this;
    const height = (whole.height * width) / whole.width;
    const within = (value, low, high) => Math.max(low, Math.min(value, high));
    this.show({
      x: within(x, whole.x, whole.x + whole.width - width),
      y: within(y, whole.y, whole.y + whole.height - height),
      width,
      height,
    });
  }

  // The point of the view at a point of the screen.
  pointOf(event) {
    const box = this.svg.getBoundingClientRect();
    return {
      x: this.view.x + (event.clientX - box.left) * this.scale,
      y: this.view.y + (event.clientY - box.top) * this.scale,
    };
  }

  // Units of the picture in a px of the screen.
  get scale() {
    return this.view.width / this.svg.getBoundingClientRect().width;
  }

  go(step) {
    const all = [...this.marks.keys()];
    if (all.length === 0) return;
    this.svg.querySelector('.current')?.classList.remove('current');
    this.at = Math.max(0, Math.min(this.at + step, all.length - 1));
    const mark = all[this.at];
    mark.classList.add('current');
    this.bringIntoView(mark);
    const box = mark.getBoundingClientRect();
    const text = this.marks.get(mark);
    showTip(text, box.left + box.width / 2, box.top + box.height / 2);
    spoken.textContent = text;
    marking.point(mark);
  }

  // The instance that a mark leads to, there or at a point of the picture; `undefined` if none.
  targetOf(mark, x = null) {
    const own = mark?.dataset.to;
    const columns = mark?.dataset.columns?.split(',');
    if (own || !columns) return own;
    const { left, right } = this.axis ?? {};
    const column = x === null ? columns.findIndex(Boolean) : Math.floor(((x - left) / (right - left)) * columns.length);
    return columns[column] || undefined;
  }

  follow(mark, x) {
    const target = this.targetOf(mark, x);
    if (target) window.location.hash = `#instance-${target}`;
  }

  bringIntoView(mark) {
    const shown = this.svg.getBoundingClientRect();
    const box = mark.getBoundingClientRect();
    const x = box.left + box.width / 2 - shown.left;
    const y = box.top + box.height / 2 - shown.top;
    if (x < 0 || y < 0 || x > shown.width || y > shown.height) {
      const { view } = this;
      this.place(
        view.x + x * this.scale - view.width / 2,
        view.y + y * this.scale - view.height / 2,
        view.width,
      );
    }
  }

  pointAt(event) {
    const mark = this.markAt(event.target);
    if (mark) showTip(this.textAt(mark, event), event.clientX, event.clientY);
    else hideTip();
    marking.point(mark);
    const target = this.targetOf(mark, this.pointOf(event).x);
    this.svg.classList.toggle('leading', target !== undefined);
  }

  leave() {
    this.svg.querySelector('.current')?.classList.remove('current');
    hideTip();
    marking.point(null);
  }

  listen() {
    const { svg, frame } = this;
    let grip = null;
    let pressed = null;
    svg.addEventListener('pointermove', (event) => {
      if (grip) {
        const { scale } = this;
        const { x, y } = grip.view;
        const moved = { x: (event.clientX - grip.x) * scale, y: (event.clientY - grip.y) * scale };
        this.place(x - moved.x, y - moved.y, this.view.width);
        return;
      }
      this.pointAt(event);
    });
    svg.addEventListener('pointerleave', () => {
      hideTip();
      marking.point(null);
    });
    svg.addEventListener('click', (event) => {
      const way = pressed ? Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) : 0;
      // Of a picture that is zoomed, the picture itself has caught the pointer.
      if (way < 5) this.follow(pressed?.mark ?? this.markAt(event.target), this.pointOf(event).x);
    });
    svg.addEventListener('pointerdown', (event) => {
      pressed = { x: event.clientX, y: event.clientY, mark: this.markAt(event.target) };
      this.pointAt(event);
      if (event.button !== 0 || this.view.width === this.whole.width) return;
      grip = { x: event.clientX, y: event.clientY, view: this.view };
      svg.setPointerCapture(event.pointerId);
    });
    for (const end of ['pointerup', 'pointercancel']) {
      svg.addEventListener(end, () => { grip = null; });
    }
    svg.addEventListener('wheel', (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      const { x, y } = this.pointOf(event);
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, x, y);
    }, { passive: false });

    const pan = (x, y) => {
      const { view } = this;
      this.place(view.x + x * view.width * 0.1, view.y + y * view.height * 0.1, view.width);
    };
    const keys = {
      ArrowRight: () => this.go(1),
      ArrowDown: () => this.go(1),
      ArrowLeft: () => this.go(-1),
      ArrowUp: () => this.go(-1),
      Home: () => this.go(-Infinity),
      End: () => this.go(Infinity),
      Escape: () => this.leave(),
      Enter: () => this.follow([...this.marks.keys()][this.at]),
      '+': () => this.zoom(1.5),
      '=': () => this.zoom(1.5),
      '-': () => this.zoom(1 / 1.5),
      0: () => this.show(this.whole),
    };
    const shiftKeys = {
      ...keys,
      ArrowRight: () => pan(1, 0),
      ArrowDown: () => pan(0, 1),
      ArrowLeft: () => pan(-1, 0),
      ArrowUp: () => pan(0, -1),
    };
    frame.addEventListener('keydown', (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey) return;
      const act = (event.shiftKey ? shiftKeys : keys)[event.key];
      if (!act) return;
      event.preventDefault();
      act();
    });
    frame.addEventListener('focus', () => {
      if (frame.matches(':focus-visible')) this.go(this.at < 0 ? 1 : 0);
    });
    frame.addEventListener('blur', () => this.leave());
  }
}

// A picture over time: it zooms in time alone, and its axis, rows and legend stay. A view is a part
// of the plot, in units of the picture.
class PictureOverTime extends Picture {
  constructor(svg) {
    super(svg);
    const { width } = svg.viewBox.baseVal;
    const ticks = svg.querySelector('.ticks');
    const axis = Object.fromEntries(Object.entries(ticks.dataset).map(([name, value]) => [name, Number(value)]));
    Object.assign(this, { ticks, axis, width, plot: svg.querySelector('.plot'), deepest: axis.deepest });
    this.finer = this.plot.dataset.parts ? new Finer(this) : null;
    this.whole = { x: axis.left, y: axis.top, width: axis.right - axis.left, height: axis.bottom - axis.top };
    this.view = this.whole;
    this.clip();
  }

  static fits(svg) {
    return svg.querySelector('.ticks')?.dataset.end !== undefined;
  }

  draw(name, attributes, text = '') {
    const made = document.createElementNS('http://www.w3.org/2000/svg', name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.textContent = text;
    return made;
  }

  clip() {
    const { x, y, width, height } = this.whole;
    const id = `${this.svg.id}-plot`;
    const clip = this.draw('clipPath', { id });
    clip.append(this.draw('rect', { x, y, width, height }));
    const frame = this.draw('g', { 'clip-path': `url(#${id})` });
    this.plot.replaceWith(frame);
    frame.append(clip, this.plot);
  }

  // What a mark says, at a point of the screen.
  textAt(mark, event) {
    const more = this.finer?.textAt(mark.closest('[data-finer]'), this.pointOf(event).x) ?? '';
    return [this.marks.get(mark), more].filter(Boolean).join('\n');
  }

  show(view) {
    const { x, width } = view;
    const { whole } = this;
    const factor = whole.width / width;
    this.finer?.show(view);
    this.view = { ...whole, x, width };
    this.plot.setAttribute('transform', `translate(${whole.x - x * factor} 0) scale(${factor} 1)`);
    // Letters and heads of arrows keep their width.
    for (const text of this.plot.querySelectorAll('text, .head')) {
      const middle = Number(text.dataset.x ?? text.getAttribute('x'));
      text.setAttribute('transform', `translate(${middle} 0) scale(${1 / factor} 1) translate(${-middle} 0)`);
    }
    this.drawTicks(factor);
    this.svg.classList.toggle('zoomed', width !== whole.width);
    hideTip();
  }

  // At 1, 2 or 5 times a power of ten, about eight of them.
  drawTicks(factor) {
    const { left, right, bottom, end, start = 0 } = this.axis;
    const extent = end - start;
    const perUnit = ((right - left) / extent) * factor;
    const rough = extent / factor / 8;
    const decade = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * decade).find((one) => one >= rough * 0.999);
    const n_decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const from = start + ((this.view.x - left) / (right - left)) * extent;
    const made = [];
    for (let idx = Math.ceil(from / step - 1e-9); left + (idx * step - from) * perUnit <= right + 0.01; idx += 1) {
      const x = (left + (idx * step - from) * perUnit).toFixed(1);
      const mark = this.draw('g', { class: 'axis' });
      mark.append(this.draw('polyline', { points: `${x},${bottom} ${x},${bottom + 4}` }));
      const label = (idx * step).toFixed(n_decimals);
      made.push(mark, this.draw('text', { class: 'tick', x, y: bottom + 16, 'text-anchor': 'middle' }, label));
    }
    this.ticks.replaceChildren(...made);
  }

  zoom(factor, x = this.view.x + this.view.width / 2) {
    super.zoom(factor, x, this.whole.y);
  }

  pointOf(event) {
    const box = this.svg.getBoundingClientRect();
    const x = (event.clientX - box.left) * (this.width / box.width);
    const part = Math.max(0, Math.min((x - this.whole.x) / this.whole.width, 1));
    return { x: this.view.x + part * this.view.width, y: this.whole.y };
  }

  get scale() {
    const onScreen = this.width / this.svg.getBoundingClientRect().width;
    return onScreen * (this.view.width / this.whole.width);
  }

  bringIntoView(mark) {
    const { x, width } = mark.getBBox();
    const middle = x + width / 2;
    const { view } = this;
    if (middle < view.x || middle > view.x + view.width) this.place(middle - view.width / 2, view.y, view.width);
  }
}

// One operation at a time. The address names it, so that it can be sent to a colleague.
class Choice {
  constructor(groups) {
    this.groups = groups;
    this.select = make('select', { id: 'choice' });
    const label = make('label', { for: 'choice' }, 'Operation');
    const bar = make('div', { class: 'choice' });
    bar.append(label, this.select);
    groups[0].before(bar);
    this.select.addEventListener('change', () => {
      this.choose(this.select.value);
      window.history.replaceState(null, '', `#${this.select.value}`);
    });
    this.filter(() => true);
  }

  // Lists those that are wanted, and shows the first of them unless the one shown is among them.
  filter(is_wanted) {
    const headings = this.groups.filter(is_wanted).map((group) => group.querySelector('h3'));
    this.wanted = headings.map(({ id }) => id);
    this.select.replaceChildren(...headings.map(({ id, textContent }) => make('option', { value: id }, textContent)));
    if (headings.length > 1) this.select.append(make('option', { value: 'by-operation' }, 'all operations'));
    this.choose(this.wanted.includes(this.chosen) ? this.chosen : this.wanted[0]);
  }

  choose(id) {
    this.chosen = id;
    // A link may lead to one that the filter has left out.
    if (id && ![...this.select.options].some((option) => option.value === id)) {
      this.select.append(make('option', { value: id }, document.getElementById(id).textContent));
    }
    this.select.value = id ?? '';
    for (const group of this.groups) {
      const own = group.querySelector('h3').id;
      const is_chosen = own === id || (id === 'by-operation' && this.wanted.includes(own));
      group.hidden = !is_chosen;
    }
    hideTip();
  }
}

// One instance at a time: its picture is prepared when it is shown.
class Instances {
  constructor(section) {
    this.figures = [...section.querySelectorAll('details.instance')];
    this.shown = new Set();
    this.select = make('select', { id: 'instance' });
    this.count = make('output');
    const label = make('label', { for: 'instance' }, 'Instance');
    const bar = make('div', { class: 'choice' });
    const step = (way) => () => {
      const options = [...this.select.options];
      const at = options.findIndex((option) => option.selected) + way;
      if (options[at]) this.go(options[at].value);
    };
    bar.append(
      label,
      this.select,
      button('‹', 'previous instance', step(-1)),
      button('›', 'next instance', step(1)),
      this.count,
    );
    this.figures[0].before(bar);
    this.select.addEventListener('change', () => this.go(this.select.value));
    this.filter(() => true);
  }

  static idOf(figure) {
    return figure.querySelector('.timeline').id;
  }

  go(id) {
    this.choose(id);
    window.history.replaceState(null, '', `#${id}`);
  }

  // Lists those that are wanted, and shows the first of them unless the one shown is among them.
  filter(is_wanted) {
    this.wanted = this.figures.filter(is_wanted);
    this.select.replaceChildren(...this.wanted.map((figure) => (
      make('option', { value: Instances.idOf(figure) }, figure.querySelector('h3').textContent)
    )));
    const n = this.wanted.length;
    this.count.textContent = n < this.figures.length ? `${n} of ${this.figures.length}` : '';
    const still = this.wanted.find((figure) => Instances.idOf(figure) === this.chosen);
    const next = still ?? this.wanted[0];
    this.choose(next ? Instances.idOf(next) : null);
  }

  choose(id) {
    this.chosen = id;
    for (const figure of this.figures) {
      const is_chosen = Instances.idOf(figure) === id;
      figure.hidden = !is_chosen;
      figure.open = is_chosen;
      const svg = figure.querySelector('svg.picture');
      if (is_chosen && !this.shown.has(svg)) {
        this.shown.add(svg);
        new PictureOverTime(svg);
      }
    }
    // A link may lead to one that the filter has left out.
    if (id && ![...this.select.options].some((option) => option.value === id)) {
      const figure = this.figures.find((one) => Instances.idOf(one) === id);
      this.select.append(make('option', { value: id }, figure.querySelector('h3').textContent));
    }
    this.select.value = id ?? '';
    hideTip();
    marking.show();
  }
}

// Shows only what is on some operations, communicators, places in the program, phases or ranks.
class Filters {
  constructor({ instances, choice }) {
    this.instances = instances;
    this.choice = choice;
    this.operations = Filters.rowsOf('operations');
    this.ranks = Filters.rowsOf('ranks');
    const figures = instances?.figures ?? [];
    const names = (column, key) => [...new Set([
      ...this.operations.map((row) => row[column]),
      ...figures.map((figure) => figure.dataset[key]),
    ])].filter(Boolean);
    this.sites = Filters.rowsOf('sites');
    this.wanted = {};
    this.bar = make('div', { class: 'filters', role: 'group', 'aria-label': 'Show only' });
    this.bar.append(make('b', {}, 'Show only'));
    this.addSelect('operation', 'Operation', names('operation', 'operation'));
    this.addSelect('communicator', 'Communicator', names('communicator', 'communicator'));
    this.addSelect('site', 'Called at', [...new Set(this.sites.map((row) => row.sites))]);
    this.addSelect('phase', 'Phase', names('', 'phase'));
    this.addRanks();
    this.bar.append(button('everything', 'Show everything', () => this.reset()));
    this.count = make('output');
    this.bar.append(this.count);
    // Below what is seen first.
    const first = document.querySelector('section.first') ?? document.querySelector('main > section');
    first.append(this.bar);
  }

  // The rows of a table, with what stands in each column.
  static rowsOf(id) {
    const table = document.getElementById(id)?.closest('section').querySelector('table.data');
    if (!table) return [];
    const heads = [...table.tHead.rows[0].cells].map((head) => head.textContent);
    return [...table.tBodies[0].rows].map((row) => ({
      row,
      link: row.querySelector('a')?.hash.slice(1),
      sites: row.dataset.sites ?? '',
      ...Object.fromEntries(heads.map((head, at) => [head, row.cells[at].textContent])),
    }));
  }

  addSelect(key, name, values) {
    if (values.length < (key === 'phase' ? 1 : 2)) return;
    const select = make('select');
    select.append(make('option', { value: '' }, 'all'));
    select.append(...values.map((value) => make('option', { value }, value)));
    this.add(name, select, 'change', () => { this.wanted[key] = select.value; });
  }

  addRanks() {
    const input = make('input', {
      type: 'search', autocomplete: 'off', spellcheck: 'false', size: 12, placeholder: '0-3,8 or n01',
    });
    this.add('Ranks or host', input, 'input', () => { this.wanted.ranks = this.rangesOf(input.value.trim()); });
  }

  add(name, field, event, note) {
    const label = make('label', {}, `${name} `);
    label.append(field);
    this.bar.append(label);
    field.addEventListener(event, () => {
      note();
      this.apply();
    });
  }

  // Of `0-3,8` these ranks; else the ranks on hosts whose name has these letters.
  rangesOf(text) {
    if (!text) return null;
    if (/^\d+(-\d+)?([ ,]+\d+(-\d+)?)*,?$/.test(text)) return rangesOf(text);
    const on_host = this.ranks.filter(({ host }) => host.toLowerCase().includes(text.toLowerCase()));
    return on_host.map(({ rank }) => [Number(rank), Number(rank)]);
  }

  reset() {
    for (const field of this.bar.querySelectorAll('select, input')) field.value = '';
    this.wanted = {};
    this.apply();
  }

  apply() {
    const {
      operation, communicator, site, phase, ranks,
    } = this.wanted;
    const is_at = (own) => (
      (!operation || own.operation === operation) && (!site || (own.sites ?? '').split('\n').includes(site))
    );
    const is_of = (own) => is_at(own) && (!communicator || own.communicator === communicator);
    for (const own of this.operations) own.row.classList.toggle('out', !is_of(own));
    for (const own of this.sites) own.row.classList.toggle('out', !is_at(own));
    const shown = this.operations.filter(is_of);
    const links = shown.map(({ link }) => link);
    this.choice?.filter((group) => links.includes(group.querySelector('h3').id));
    this.instances?.filter(({ dataset }) => (
      is_of(dataset) && (!phase || dataset.phase === phase) && (!ranks || meet(rangesOf(dataset.members), ranks))
    ));
    for (const { row, rank } of this.ranks) {
      row.classList.toggle('out', Boolean(ranks) && !meet([[Number(rank), Number(rank)]], ranks));
    }
    marking.choose(ranks ?? []);
    const n = this.operations.length;
    this.count.textContent = shown.length < n ? `${shown.length} of ${n} operations` : '';
  }
}

class SortableTable {
  constructor(table) {
    this.body = table.tBodies[0];
    this.heads = [...table.tHead.rows[0].cells];
    this.heads.forEach((head, column) => {
      const sort = make('button', { type: 'button' }, head.textContent);
      sort.addEventListener('click', () => this.sort(column));
      head.replaceChildren(sort);
    });
    if (this.body.rows.length > 12) this.addFilter(table);
  }

  // Numbers start with the largest, words with the first; what is not known comes last.
  sort(column) {
    const head = this.heads[column];
    const rows = [...this.body.rows];
    const is_numeric = rows.some((row) => 'key' in row.cells[column].dataset);
    const first = is_numeric ? 'descending' : 'ascending';
    const second = is_numeric ? 'ascending' : 'descending';
    const order = head.getAttribute('aria-sort') === first ? second : first;
    for (const other of this.heads) other.removeAttribute('aria-sort');
    head.setAttribute('aria-sort', order);
    const sign = order === 'ascending' ? 1 : -1;
    const words = new Intl.Collator('en', { numeric: true });
    const compare = (a, b) => {
      if (!is_numeric) return sign * words.compare(a.textContent, b.textContent);
      const [one, other] = [a.dataset.key, b.dataset.key];
      if (one === undefined || other === undefined) return (one === undefined) - (other === undefined);
      return sign * (Number(one) - Number(other));
    };
    rows.sort((a, b) => compare(a.cells[column], b.cells[column]));
    this.body.append(...rows);
  }

  addFilter(table) {
    const label = make('label', { class: 'filter' }, 'Filter rows ');
    const input = make('input', { type: 'search', autocomplete: 'off', spellcheck: 'false' });
    const count = make('output');
    label.append(input);
    const bar = make('div', { class: 'bar' });
    bar.append(label, count);
    table.parentElement.before(bar);
    const rows = [...this.body.rows];
    const texts = rows.map((row) => row.textContent.toLowerCase());
    input.addEventListener('input', () => {
      const wanted = input.value.trim().toLowerCase();
      rows.forEach((row, idx) => { row.hidden = !texts[idx].includes(wanted); });
      const shown = rows.filter((row) => !row.hidden).length;
      count.textContent = wanted ? `${shown} of ${rows.length} rows` : '';
    });
  }
}

const drawn = [...document.querySelectorAll('svg.picture')].filter((svg) => !svg.closest('details.instance'));
const pictures = drawn.map((svg) => (
  PictureOverTime.fits(svg) ? new PictureOverTime(svg) : new Picture(svg)
));
if (pictures.length > 0) {
  const section = pictures[0].frame.closest('main > section');
  const hint = make(
    'p',
    { class: 'hint' },
    'Pictures: point at a mark, or step through the marks with the arrow keys, to see its values. '
      + 'Zoom with Ctrl + wheel or with + and -. Move by dragging or with Shift + arrow keys. 0 shows the whole picture. '
      + 'A click on a bar of durations or on a wait over time, or Enter at such a mark, leads to an instance of it.',
  );
  if (section.matches('.first')) section.append(hint);
  else section.querySelector('h2').after(hint);
}
for (const table of document.querySelectorAll('table.data')) new SortableTable(table);
const groups = [...document.querySelectorAll('section.group')];
const choice = groups.length > 1 ? new Choice(groups) : null;
const timelines = document.querySelector('section.timelines');
const instances = timelines ? new Instances(timelines) : null;
if (instances) new Filters({ instances, choice });

// An address leads to what it names also where that is folded or not chosen.
const reveal = () => {
  const target = document.getElementById(window.location.hash.slice(1));
  if (!target) return;
  const group = target.closest('section.group');
  if (choice && (group || target.id === 'by-operation')) {
    choice.choose(group ? group.querySelector('h3').id : target.id);
  }
  if (instances && target.closest('details.instance')) instances.choose(target.id);
  else target.closest('section')?.querySelector(':scope > details:not(.instance)')?.setAttribute('open', '');
  target.scrollIntoView();
};
window.addEventListener('hashchange', reveal);
reveal();
