// The axes of a chart that is magnified: its ticks in sight, and the values at the ends of the view, along the lower and
// the left edge of the view. A chart has them as texts of the class `tick`: those of the x axis are centered.
class KeptAxes {
  // The height of what is kept of the x axis, px, and how far the foot of a tick's text on the y axis is below it.
  static HIGH = 20;

  static BELOW = 4;

  static UNITS = {
    ns: 1, us: 1e3, ms: 1e6, s: 1e9, min: 6e10, h: 3.6e12, '%': 1, '': 1,
  };

  constructor(picture) {
    this.picture = picture;
    const ticks = [...picture.svg.querySelectorAll('text.tick')].map((text) => {
      const is_y = text.getAttribute('text-anchor') === 'end';
      return {
        x: Number(text.getAttribute('x')),
        y: Number(text.getAttribute('y')) - (is_y ? KeptAxes.BELOW : 0),
        is_x: text.getAttribute('text-anchor') === 'middle',
        is_y,
        words: text.textContent,
      };
    });
    // Those of one line alone: other figures may look like ticks.
    const lines = (of, along, across) => {
      const known = ticks.filter((tick) => tick[of]);
      const at = known.at(-1)?.[across];
      return known.filter((tick) => tick[across] === at).map((tick) => ({ at: tick[along], words: tick.words }));
    };
    this.x = lines('is_x', 'x', 'y');
    this.y = lines('is_y', 'y', 'x');
    this.below = ticks.filter((tick) => tick.is_x).at(-1)?.y;
    this.leftmost = ticks.filter((tick) => tick.is_y).at(-1)?.x;
  }

  // The number that a tick stands for, in its least unit; `NaN` if it is none.
  static valueOf(words) {
    const [, figure, unit] = /^(-?[\d.,]+) ?(\D*)$/.exec(words.replace('−', '-')) ?? [];
    return figure === undefined ? NaN : Number(figure.replaceAll(',', '')) * (KeptAxes.UNITS[unit] ?? NaN);
  }

  static wordsOf(value, unit) {
    if (unit !== '' && unit !== '%') return Finer.duration(value);
    const shown = Math.abs(value) >= 1000 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
    return unit === '%' ? `${shown} %` : shown;
  }

  // What stands at a place of an axis that is linear or logarithmic; `null` where that cannot be told.
  static at(ticks, place) {
    const known = ticks.map(({ at, words }) => ({ at, value: KeptAxes.valueOf(words) }));
    if (known.length < 3 || known.some(({ value }) => Number.isNaN(value))) return null;
    const [one, mid, other] = [known[0], known[1], known.at(-1)];
    const between = (by) => {
      const [low, high] = [by(one.value), by(other.value)];
      const found = low + ((mid.at - one.at) / (other.at - one.at)) * (high - low);
      return { error: Math.abs((found - by(mid.value)) / (high - low)), low, high };
    };
    const part = (place - one.at) / (other.at - one.at);
    const linear = between((value) => value);
    const unit = /\D*$/.exec(ticks.at(-1).words)[0].trim();
    if (linear.error < 0.01) {
      const value = linear.low + part * (linear.high - linear.low);
      const is_zero = Math.abs(value) < 1e-6 * Math.abs(linear.high - linear.low);
      return KeptAxes.wordsOf(is_zero ? 0 : value, unit);
    }
    if (known.some(({ value }) => value <= 0)) return null;
    const log = between(Math.log);
    return log.error < 0.01 ? KeptAxes.wordsOf(Math.exp(log.low + part * (log.high - log.low)), unit) : null;
  }

  show(view) {
    const { svg, whole } = this.picture;
    svg.querySelector(':scope > .kept')?.remove();
    const scale = view.width / whole.width;
    if (scale > 0.999 || this.x.length + this.y.length === 0) return;
    const make = (name, attributes, text = '') => {
      const made = document.createElementNS('http://www.w3.org/2000/svg', name);
      for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
      made.textContent = text;
      return made;
    };
    const kept = make('g', { class: 'kept', 'aria-hidden': 'true' });
    const label = (x, y, anchor, words) => kept.append(make('text', {
      class: 'tick', 'text-anchor': anchor, transform: `translate(${x} ${y}) scale(${scale})`,
    }, words));
    const [right, bottom] = [view.x + view.width, view.y + view.height];
    const [high, wide] = [KeptAxes.HIGH * scale, 64 * scale];
    if (this.x.length > 0 && this.below > bottom) {
      kept.append(make('rect', {
        class: 'shelf', x: view.x, y: bottom - high, width: view.width, height: high,
      }));
      const y = bottom - 6 * scale;
      const ends = [[view.x + 4 * scale, 'start'], [right - 4 * scale, 'end']];
      for (const [x, anchor] of ends) {
        const words = KeptAxes.at(this.x, anchor === 'start' ? view.x : right);
        if (words) label(x, y, anchor, words);
      }
      const is_clear = ({ at }) => at > view.x + 1.4 * wide && at < right - 1.4 * wide;
      for (const { at, words } of this.x.filter(is_clear)) label(at, y, 'middle', words);
    }
    if (this.y.length > 0 && this.leftmost < view.x) {
      kept.append(make('rect', {
        class: 'shelf', x: view.x, y: view.y, width: wide, height: view.height - high,
      }));
      const x = view.x + wide - 6 * scale;
      const ends = [[view.y + 14 * scale, view.y], [bottom - high - 6 * scale, bottom - high]];
      for (const [y, place] of ends) {
        const words = KeptAxes.at(this.y, place);
        if (words) label(x, y, 'end', words);
      }
      const is_clear = ({ at }) => at > view.y + 2 * high && at < bottom - 3 * high;
      for (const { at, words } of this.y.filter(is_clear)) label(x, at + KeptAxes.BELOW * scale, 'end', words);
    }
    svg.append(kept);
  }
}
