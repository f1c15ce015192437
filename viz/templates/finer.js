// Columns of a picture over time that are shorter than those in the page: the rows have their values, two digits
// of base 64 for each. At every zoom some hundred columns are in sight.
class Finer {
  static DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

  static HIGHEST = 2000;

  static UNKNOWN = 4094;

  static BLANK = 4095;

  static MOST = 160;

  constructor(picture) {
    this.picture = picture;
    const { plot, svg } = picture;
    const {
      parts, highest, limits, column, before,
    } = plot.dataset;
    this.parts = Number(parts);
    this.highest = Number(highest);
    this.limits = limits.split(' ').map(Number);
    this.ns = Number(column) / this.parts;
    this.before = Number(before) * this.parts;
    this.rows = [...plot.querySelectorAll('[data-finer]')];
    this.values = new Map();
    this.n = this.rows[0].dataset.finer.length / 2;
    this.hatch = `url(#${svg.id}-hatch)`;
    this.size = this.parts;
    this.note = document.createElement('output');
    picture.tools.append(this.note);
    this.say();
  }

  valuesOf(row) {
    if (!this.values.has(row)) {
      const text = row.dataset.finer;
      const digit = (at) => Finer.DIGITS.indexOf(text[at]);
      this.values.set(row, Array.from({ length: text.length / 2 }, (_, at) => digit(2 * at) * 64 + digit(2 * at + 1)));
    }
    return this.values.get(row);
  }

  // The mean of those from one to before another: its part of the highest, and whether it is known.
  mean(row, from, to) {
    const values = this.valuesOf(row).slice(from, to);
    const called = values.filter((value) => value !== Finer.BLANK);
    const known = called.filter((value) => value !== Finer.UNKNOWN);
    const is_least = known.length < called.length || known.some((value) => value > Finer.HIGHEST);
    const sum = known.reduce((all, value) => all + (value > Finer.HIGHEST ? value - Finer.HIGHEST - 1 : value), 0);
    return {
      is_blank: called.length === 0,
      is_known: known.length > 0,
      is_least,
      part: ((sum / Math.max(values.length, 1)) / Finer.HIGHEST) * this.highest,
    };
  }

  shadeOf({ is_blank, is_known, is_least, part }) {
    if (is_blank) return 'blank';
    if (!is_known) return 'unknown';
    const at = this.limits.findIndex((limit) => part <= limit);
    return `step${at < 0 ? this.limits.length - 1 : at}${is_least ? ' least' : ''}`;
  }

  // So many make a column in a view.
  sizeFor(width) {
    // The whole is as it was drawn.
    if (width > 0.999 * this.picture.whole.width) return this.parts;
    const in_sight = (width / this.picture.whole.width) * this.n;
    let size = this.parts;
    while (size % 2 === 0 && in_sight / size <= Finer.MOST / 2) size /= 2;
    return size;
  }

  show({ x, width }) {
    const { left, right } = this.picture.axis;
    const step = (right - left) / this.n;
    this.size = this.sizeFor(width);
    const is_finer = this.size < this.parts;
    this.picture.svg.classList.toggle('finer', is_finer);
    for (const row of this.rows) {
      row.querySelector(':scope > .fine')?.remove();
      if (is_finer) row.prepend(this.draw(row, { left, step, from: x, to: x + width }));
    }
    this.say();
  }

  // One shape for all columns of a shade.
  draw(row, { left, step, from, to }) {
    const { y, height } = this.boxOf(row);
    const { size } = this;
    const shapes = new Map();
    const first = Math.max(0, Math.floor((from - left) / step / size));
    for (let at = first; at * size < this.n && left + at * size * step < to; at += 1) {
      const end = Math.min((at + 1) * size, this.n);
      const shade = this.shadeOf(this.mean(row, at * size, end));
      const begin = (left + at * size * step).toFixed(3);
      const shape = `M${begin} ${y}h${((end - at * size) * step).toFixed(3)}v${height}H${begin}z`;
      shapes.set(shade, (shapes.get(shade) ?? '') + shape);
    }
    const made = this.picture.draw('g', { class: 'fine' });
    for (const [shade, d] of shapes) {
      const [step_of, least] = shade.split(' ');
      if (step_of.startsWith('step')) made.append(this.picture.draw('path', { class: step_of, d }));
      if (least || step_of === 'unknown') made.append(this.picture.draw('path', { fill: this.hatch, d }));
    }
    return made;
  }

  boxOf(row) {
    this.boxes ??= new Map();
    if (!this.boxes.has(row)) this.boxes.set(row, row.getBBox());
    return this.boxes.get(row);
  }

  say() {
    this.note.textContent = `intervals of ${Finer.duration(this.ns * this.size)}`;
  }

  // What a row says at a point, where it is not said by a mark that is drawn there.
  textAt(row, x) {
    if (!row || (this.size === this.parts && row.querySelector('.cell'))) return '';
    const { left, right } = this.picture.axis;
    const at = Math.floor((((x - left) / (right - left)) * this.n) / this.size);
    const [from, to] = [at * this.size, Math.min((at + 1) * this.size, this.n)];
    const { is_blank, is_known, is_least, part } = this.mean(row, from, to);
    const when = [from, to].map((one) => Finer.duration((this.before + one) * this.ns)).join(' to ');
    if (is_blank) return `${when}: no call`;
    if (!is_known) return `${when}: wait not known`;
    const percent = part / 1e7;
    const shown = percent >= 10 || percent === 0 ? percent.toFixed(0) : percent.toPrecision(2);
    return `${when}: ${is_least ? 'at least ' : ''}${shown} % of the time waiting`;
  }

  static duration(ns) {
    const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'us'], [1, 'ns']];
    const [size, unit] = units.find(([least]) => ns >= least) ?? units.at(-1);
    const value = ns / size;
    const n_decimals = value >= 100 || unit === 'ns' ? 0 : 3 - String(Math.floor(value)).length;
    return `${value.toFixed(n_decimals)} ${unit}`;
  }
}
