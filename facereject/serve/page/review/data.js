// The faces of the table as typed arrays, what is accepted of them, and in which order they are shown.

import { ask, request } from "../api.js";

const TYPES = { f8: Float64Array, f4: Float32Array, u4: Uint32Array, u2: Uint16Array, i4: Int32Array, b1: Uint8Array };

export const UNDECIDED = 0, ACCEPT = 1, REJECT = 2;

/** What the server knows: facts, columns, decisions. */
export async function loadFaces() {
  const [facts, columns] = await Promise.all([
    ask("/api/review"), request("/api/columns").then((answer) => answer.arrayBuffer()),
  ]);
  return new Faces(facts, columns);
}

export class Faces {
  constructor(facts, buffer) {
    this.facts = facts;
    this.n = facts.n;
    this.column = Object.fromEntries(facts.columns.map(
      ({ name, type, offset }) => [name, new TYPES[type](buffer, offset, facts.n)],
    ));
    this.decided = new Uint8Array(facts.n);
    for (const [number, decision] of facts.decided) this.decided[number] = decision;
    this.corrected = new Set(facts.corrected);
    this.rule = facts.rule;
    this.duplicateOf = null;
    const { crop, reason } = this.column;
    const can = facts.reasons.map((word) => word === "" || word === "uncertain");
    // by their uncertainty they may be accepted; other reasons stay
    this.can = Uint8Array.from(reason, (k) => can[k]);
    this.shown = Uint32Array.from({ length: facts.n }, (_, k) => k).filter((k) => crop[k] === k);
    this.folders = facts.sources.map((name) => name.slice(0, Math.max(0, name.lastIndexOf("/"))) || ".");
    this.#rank();
  }

  // faces by their uncertainty, and the mean expected error of the first k of them
  #rank() {
    const { uncertainty, expected_error: expected } = this.column;
    this.ranked = Uint32Array.from({ length: this.n }, (_, k) => k)
      .filter((k) => this.can[k] && Number.isFinite(uncertainty[k]))
      .sort((a, b) => uncertainty[a] - uncertainty[b] || a - b);
    this.means = new Float64Array(this.ranked.length);
    let sum = 0;
    this.ranked.forEach((face, k) => {
      sum += expected[face];
      this.means[k] = sum / (k + 1);
    });
    this.hasUnit = Number.isFinite(sum) && this.ranked.length > 0;
  }

  name(face) {
    return this.facts.sources[this.column.source[face]];
  }

  isVideo(face) {
    return Number.isFinite(this.column.time_s[face]);
  }

  /** Whether the rule accepts a face. */
  byRule(face, rule = this.rule) {
    return this.can[face] === 1 && this.column[rule.key][face] <= rule.limit;
  }

  accepted(face) {
    const decided = this.decided[this.column.crop[face]];
    return decided ? decided === ACCEPT : this.byRule(face);
  }

  /** Faces and files that are accepted under a rule, and the mean expected error of the faces. */
  count(rule = this.rule) {
    const { source, frame, crop, expected_error: expected, width, height } = this.column;
    const { sources, empty, frame_rule: how } = this.facts;
    const key = this.column[rule.key];
    const good = new Uint32Array(sources.length);
    const frames = new Uint32Array(sources.length);
    for (const [number, count] of empty) frames[number] = count;
    let faces = 0, sum = 0, known = 0, k = 0;
    while (k < this.n) {
      const first = k;
      let all = true, any = false, largest = false, area = -1;
      for (; k < this.n && source[k] === source[first] && frame[k] === frame[first]; k += 1) {
        const decided = this.decided[crop[k]];
        const fine = decided ? decided === ACCEPT : this.can[k] === 1 && key[k] <= rule.limit;
        if (fine) {
          faces += 1;
          if (Number.isFinite(expected[k])) [sum, known] = [sum + expected[k], known + 1];
        }
        all &&= fine;
        any ||= fine;
        if (width[k] * height[k] > area) [area, largest] = [width[k] * height[k], fine];
      }
      frames[source[first]] += 1;
      if (how === "any" ? any : how === "largest" ? largest : all) good[source[first]] += 1;
    }
    let files = 0;
    for (let s = 0; s < sources.length; s += 1) if (good[s] > 0 && good[s] >= 0.5 * frames[s]) files += 1;
    return { faces, files, mean: known ? sum / known : null };
  }

  /** How many ranked faces the rule accepts. */
  rankOf(rule = this.rule) {
    if (rule.key === "uncertainty" || rule.key === "expected_error") {
      // both rise together
      let [low, high] = [0, this.ranked.length];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (this.column[rule.key][this.ranked[middle]] <= rule.limit) low = middle + 1;
        else high = middle;
      }
      return low;
    }
    return this.sorted(rule.key).findLastIndex((face) => this.column[rule.key][face] <= rule.limit) + 1;
  }

  /** Faces that can be accepted, by a column. */
  sorted(key) {
    if (key === "uncertainty" || key === "expected_error") return this.ranked;
    this.orders ??= {};
    const values = this.column[key];
    this.orders[key] ??= this.ranked.filter((face) => Number.isFinite(values[face])).sort((a, b) => values[a] - values[b]);
    return this.orders[key];
  }

  /** The shown faces next to the cut-off: the same number on either side of it. */
  around(count) {
    const { crop } = this.column;
    const order = this.sorted(this.rule.key);
    const cut = Math.min(this.rankOf(), order.length);
    const [below, above] = [[], []];
    for (let k = cut - 1; k >= 0 && below.length < count; k -= 1) if (crop[order[k]] === order[k]) below.unshift(order[k]);
    for (let k = cut; k < order.length && above.length < count; k += 1) if (crop[order[k]] === order[k]) above.push(order[k]);
    return { below, above };
  }

  /** The faces to show, in groups: [{title, faces}]. */
  arranged({ sort, group, show, search }) {
    const { decided } = this;
    const wanted = search.trim().toLowerCase();
    const tests = {
      all: () => true,
      accepted: (face) => this.accepted(face),
      rejected: (face) => !this.accepted(face),
      decided: (face) => decided[face] !== UNDECIDED,
      overruled: (face) => decided[face] !== UNDECIDED && (decided[face] === ACCEPT) !== this.byRule(face),
      corrected: (face) => this.corrected.has(face),
    };
    let faces = this.shown.filter(tests[show]);
    if (wanted) {
      const found = this.facts.sources.map((name) => name.toLowerCase().includes(wanted));
      faces = faces.filter((face) => found[this.column.source[face]]);
    }
    if (sort !== "file") {
      const [key, sign] = sort.startsWith("-") ? [sort.slice(1), -1] : [sort, 1];
      const values = this.column[key];
      const value = (face) => (Number.isNaN(values[face]) ? Infinity : sign * values[face]);
      faces.sort((a, b) => value(a) - value(b) || a - b);
    }
    if (group === "none") return [{ title: "", faces }];
    if (group === "duplicates") return this.#duplicates(faces);
    const titles = new Map();
    for (const face of faces) {
      const title = this.#titleOf(face, group);
      if (!titles.has(title)) titles.set(title, []);
      titles.get(title).push(face);
    }
    return [...titles].map(([title, members]) => ({ title, faces: members }));
  }

  #titleOf(face, group) {
    const { source, track, cause } = this.column;
    if (group === "folder") return this.folders[source[face]];
    if (group === "cause") return this.facts.causes[cause[face]].replaceAll("_", " ") || "no cause given";
    if (!this.isVideo(face)) return "photos";
    return `${this.name(face)}, ${track[face] < 0 ? "no track" : `person #${track[face]}`}`;
  }

  #duplicates(faces) {
    const groups = new Map();
    for (const face of faces) {
      const group = this.duplicateOf?.get(face);
      if (group === undefined) continue;
      if (!groups.has(group)) groups.set(group, []);
      groups.get(group).push(face);
    }
    const { uncertainty } = this.column;
    return [...groups.values()].map((members) => {
      members.sort((a, b) => uncertainty[a] - uncertainty[b]);
      return { title: "Alike, the best first", faces: members };
    });
  }
}
