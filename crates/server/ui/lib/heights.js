// Where the rows of a long list begin, when most were never seen: an estimate for each, and what those
// that were seen differ from it by. Asking and telling take the logarithm of how many there are.

export class Heights {
  length = 0;

  /** @param {number} estimate px of a row that was never seen */
  constructor(estimate) {
    this.estimate = estimate;
    this.clear(0);
  }

  clear(capacity) {
    this.capacity = 2 ** Math.ceil(Math.log2(Math.max(64, capacity)));
    this.off = new Float64Array(this.capacity);
    // A Fenwick tree: each node has the sum of as many rows as its lowest bit says.
    this.sums = new Float64Array(this.capacity + 1);
  }

  /** There are so many rows now; `of(index)` is the height of one that is known, else undefined. */
  reset(length, of) {
    this.clear(length);
    this.length = length;
    for (let index = 0; index < length; index++) this.off[index] = (of(index) ?? this.estimate) - this.estimate;
    this.sum();
  }

  /** There are so many rows now, those before as they were. */
  resize(length) {
    if (length > this.capacity) {
      const { off } = this;
      this.clear(length);
      this.off.set(off);
      this.sum();
    }
    for (let index = length; index < this.length; index++) this.set(index, this.estimate);
    this.length = length;
  }

  sum() {
    const { off, sums, capacity } = this;
    sums.set(off, 1);
    for (let node = 1; node <= capacity; node++) {
      const parent = node + (node & -node);
      if (parent <= capacity) sums[parent] += sums[node];
    }
  }

  get(index) {
    return this.estimate + this.off[index];
  }

  set(index, height) {
    const more = height - this.get(index);
    if (more === 0) return;
    this.off[index] += more;
    for (let node = index + 1; node <= this.capacity; node += node & -node) this.sums[node] += more;
  }

  /** Where a row begins; `length` is where the list ends. */
  top(index) {
    let top = index * this.estimate;
    for (let node = index; node > 0; node -= node & -node) top += this.sums[node];
    return top;
  }

  /** The row at a height, or the last one. */
  at(y) {
    let [rows, above] = [0, 0];
    for (let step = this.capacity; step > 0; step >>= 1) {
      if (rows + step > this.capacity) continue;
      const top = above + step * this.estimate + this.sums[rows + step];
      if (top <= y) [rows, above] = [rows + step, top];
    }
    return Math.max(0, Math.min(rows, this.length - 1));
  }
}
