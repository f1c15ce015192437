// Bars of durations in a picture that is magnified: each is divided into 2, 4 or 8, whose numbers the page has.
class FinerBars {
  // The least height of a bar, px.
  static LEAST = 3;

  constructor(picture) {
    this.picture = picture;
    this.bars = [...picture.svg.querySelectorAll('.bar')].filter((bar) => bar.dataset.counts).map((bar) => {
      const [from, to, ...counts] = bar.dataset.counts.split(' ').map(Number);
      const shape = bar.querySelector('rect');
      const [x, y, width, height] = ['x', 'y', 'width', 'height'].map((name) => Number(shape.getAttribute(name)));
      return {
        bar, from, to, counts, x, width, bottom: y + height, height, shade: shape.getAttribute('class'),
      };
    });
    this.parts = 1;
    // Of one instance. Low bars are higher than they should be.
    const highest = this.bars.reduce((one, other) => (other.height > one.height ? other : one));
    this.of_one = highest.height / highest.counts.reduce((sum, n) => sum + n, 0);
    this.note = document.createElement('output');
    picture.tools.append(this.note);
    this.say();
  }

  static fit(svg) {
    return svg.querySelector('.bar[data-counts]') !== null;
  }

  show(view) {
    const factor = this.picture.whole.width / view.width;
    let parts = 1;
    while (parts < 8 && parts * 2 <= factor + 1e-6) parts *= 2;
    if (parts === this.parts) return;
    this.parts = parts;
    this.picture.svg.classList.toggle('finer', parts > 1);
    for (const own of this.bars) {
      own.bar.querySelector(':scope > .fine')?.remove();
      if (parts > 1) own.bar.append(this.draw(own));
    }
    this.say();
  }

  // The numbers of a bar, in parts.
  partsOf({ counts }) {
    const each = counts.length / this.parts;
    return Array.from({ length: this.parts }, (_, at) => (
      counts.slice(at * each, (at + 1) * each).reduce((sum, n) => sum + n, 0)
    ));
  }

  draw(own) {
    const width = own.width / this.parts;
    const made = document.createElementNS('http://www.w3.org/2000/svg', 'g');
    made.setAttribute('class', 'fine');
    this.partsOf(own).forEach((n, at) => {
      if (n === 0) return;
      const height = Math.max(n * this.of_one, FinerBars.LEAST / this.parts);
      const part = document.createElementNS('http://www.w3.org/2000/svg', 'rect');
      const [x, y] = [own.x + (at + 0.05) * width, own.bottom - height];
      for (const [name, value] of Object.entries({ x, y, width: 0.9 * width, height })) part.setAttribute(name, value.toFixed(3));
      part.setAttribute('class', own.shade);
      made.append(part);
    });
    return made;
  }

  say() {
    this.note.textContent = `${8 * this.parts} bars for each doubling`;
  }

  // What a bar says, at a place of the picture.
  textAt(mark, x) {
    const own = this.bars.find(({ bar }) => bar === mark);
    if (!own || this.parts === 1) return '';
    const at = Math.max(0, Math.min(Math.floor(((x - own.x) / own.width) * this.parts), this.parts - 1));
    const step = (own.to - own.from) / this.parts;
    const [from, to] = [at, at + 1].map((one) => Finer.duration(own.from + one * step));
    const n = this.partsOf(own)[at];
    return `of these ${from} to ${to}: ${n} instance${n === 1 ? '' : 's'}`;
  }
}
