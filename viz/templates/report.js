//<![CDATA[
// Adds to a page that is complete without it. What it needs stands in the page: titles of marks,
// headings, keys of cells. Text of the page goes back into it as text, never as markup.
'use strict';
(() => {
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
      this.addTools();
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

    addTools() {
      const tools = make('div', { class: 'tools', role: 'group', 'aria-label': 'Zoom' });
      tools.append(
        button('+', 'Zoom in', () => this.zoom(1.5)),
        button('−', 'Zoom out', () => this.zoom(1 / 1.5)),
        button('reset', 'reset zoom', () => this.show(this.whole)),
      );
      this.frame.before(tools);
    }

    show(view) {
      const { x, y, width, height } = view;
      this.view = view;
      this.svg.setAttribute('viewBox', `${x} ${y} ${width} ${height}`);
      this.svg.classList.toggle('zoomed', width !== this.whole.width);
      hideTip();
    }

    // Keeps the point (x, y) of the picture, its middle by default, where it is.
    zoom(factor, x = this.view.x + this.view.width / 2, y = this.view.y + this.view.height / 2) {
      const least = this.whole.width / 40;
      const width = Math.max(least, Math.min(this.view.width / factor, this.whole.width));
      const scale = width / this.view.width;
      this.place(x - (x - this.view.x) * scale, y - (y - this.view.y) * scale, width);
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
      if (mark) showTip(this.marks.get(mark), event.clientX, event.clientY);
      else hideTip();
    }

    leave() {
      this.svg.querySelector('.current')?.classList.remove('current');
      hideTip();
    }

    listen() {
      const { svg, frame } = this;
      let grip = null;
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
      svg.addEventListener('pointerleave', hideTip);
      svg.addEventListener('pointerdown', (event) => {
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
      Object.assign(this, { ticks, axis, width, plot: svg.querySelector('.plot') });
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

    show(view) {
      const { x, width } = view;
      const { whole } = this;
      const factor = whole.width / width;
      this.view = { ...whole, x, width };
      this.plot.setAttribute('transform', `translate(${whole.x - x * factor} 0) scale(${factor} 1)`);
      // Letters keep their width.
      for (const text of this.plot.querySelectorAll('text')) {
        const middle = Number(text.getAttribute('x'));
        text.setAttribute('transform', `translate(${middle} 0) scale(${1 / factor} 1) translate(${-middle} 0)`);
      }
      this.drawTicks(factor);
      this.svg.classList.toggle('zoomed', width !== whole.width);
      hideTip();
    }

    // At 1, 2 or 5 times a power of ten, about eight of them.
    drawTicks(factor) {
      const { left, right, bottom, end } = this.axis;
      const perUnit = ((right - left) / end) * factor;
      const rough = end / factor / 8;
      const decade = 10 ** Math.floor(Math.log10(rough));
      const step = [1, 2, 5, 10].map((times) => times * decade).find((one) => one >= rough * 0.999);
      const n_decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      const from = ((this.view.x - left) / (right - left)) * end;
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
      this.select.append(...groups.map((group) => {
        const heading = group.querySelector('h3');
        return make('option', { value: heading.id }, heading.textContent);
      }));
      this.select.append(make('option', { value: 'by-operation' }, 'all operations'));
      const label = make('label', { for: 'choice' }, 'Operation');
      const bar = make('div', { class: 'choice' });
      bar.append(label, this.select);
      groups[0].before(bar);
      this.select.addEventListener('change', () => {
        this.choose(this.select.value);
        window.history.replaceState(null, '', `#${this.select.value}`);
      });
      this.choose(this.select.value);
    }

    choose(id) {
      this.select.value = id;
      for (const group of this.groups) {
        const is_chosen = id === 'by-operation' || group.querySelector('h3').id === id;
        group.hidden = !is_chosen;
      }
      hideTip();
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

  const pictures = [...document.querySelectorAll('svg.picture')].map((svg) => (
    PictureOverTime.fits(svg) ? new PictureOverTime(svg) : new Picture(svg)
  ));
  if (pictures.length > 0) {
    const section = pictures[0].frame.closest('main > section');
    section.querySelector('h2').after(make(
      'p',
      { class: 'hint' },
      'Pictures: point at a mark, or step through the marks with the arrow keys, to see its values. '
        + 'Zoom with Ctrl + wheel or with + and -. Move by dragging or with Shift + arrow keys. 0 shows the whole picture.',
    ));
  }
  for (const table of document.querySelectorAll('table.data')) new SortableTable(table);
  const groups = [...document.querySelectorAll('section.group')];
  const choice = groups.length > 1 ? new Choice(groups) : null;

  // An address leads to what it names also where that is folded or not chosen.
  const reveal = () => {
    const target = document.getElementById(window.location.hash.slice(1));
    if (!target) return;
    const group = target.closest('section.group');
    if (choice && (group || target.id === 'by-operation')) {
      choice.choose(group ? group.querySelector('h3').id : target.id);
    }
    target.closest('section')?.querySelector(':scope > details')?.setAttribute('open', '');
    target.scrollIntoView();
  };
  window.addEventListener('hashchange', reveal);
  reveal();
})();
//]]>
