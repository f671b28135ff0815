/**
 * The time axis and the bars on it. Pure.
 *
 * Times in which nothing of ours ran (between turns, while a person makes up their mind) are shortened, so that they
 * do not squeeze what did run. Bars too small to tell apart become one, so a drawing never has more bars than it has
 * room for, however long the session is.
 */
import type { Row, Span, Tone } from "./spans.ts";

export interface Scale {
  readonly from: number;
  readonly to: number;
  /** Where a time is, from 0 to 1. */
  place(at: number): number;
  /** The middle and the end of each time that was shortened. */
  readonly breaks: readonly { readonly place: number; readonly ms: number; readonly end: number; readonly until: number }[];
}

interface Piece {
  readonly from: number;
  readonly to: number;
  readonly width: number;
}

/** The longest idle time that is drawn as it was, as a share of all busy time. */
const IDLE_SHARE = 0.12;
const IDLE_MS = 400;

export function createScale(spans: readonly Span[], now: number): Scale {
  const busy = merge(spans.filter(({ row }) => row !== "wait").map(({ from, to }) => ({ from, to: Math.max(from, to ?? now) })));
  const all = spans.map(({ from, to }) => ({ from, to: to ?? now }));
  const from = all.reduce((least, each) => Math.min(least, each.from), Infinity);
  const to = all.reduce((most, each) => Math.max(most, each.to), -Infinity);
  if (from > to) return { from: now, to: now, place: () => 0, breaks: [] };
  const longest = Math.max(IDLE_MS, IDLE_SHARE * busy.reduce((sum, each) => sum + each.to - each.from, 0));
  const pieces = toPieces(busy, { from, to: Math.max(to, from + 1) }, longest);
  const total = pieces.reduce((sum, each) => sum + each.width, 0);
  return { from, to, place: (at) => placeOf(at, pieces, total), breaks: breaksOf(pieces, total) };
}

function merge(intervals: readonly { readonly from: number; readonly to: number }[]): readonly { from: number; to: number }[] {
  const merged: { from: number; to: number }[] = [];
  for (const { from, to } of [...intervals].sort((left, right) => left.from - right.from)) {
    const last = merged[merged.length - 1];
    if (last !== undefined && from <= last.to) last.to = Math.max(last.to, to);
    else merged.push({ from, to });
  }
  return merged;
}

function toPieces(busy: readonly { from: number; to: number }[], whole: { from: number; to: number }, longest: number): readonly Piece[] {
  const pieces: Piece[] = [];
  const idle = (from: number, to: number) => {
    if (to > from) pieces.push({ from, to, width: Math.min(to - from, longest) });
  };
  let at = whole.from;
  for (const { from, to } of busy) {
    idle(at, from);
    if (to > from) pieces.push({ from, to, width: to - from });
    at = Math.max(at, to);
  }
  idle(at, whole.to);
  return pieces;
}

/** The piece is found by halving: a long session has thousands. */
function placeOf(at: number, pieces: readonly Piece[], total: number): number {
  const starts = startsOf(pieces);
  let low = 0;
  let high = pieces.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if ((pieces[middle]?.from ?? 0) <= at) low = middle;
    else high = middle - 1;
  }
  const piece = pieces[low];
  if (piece === undefined || total === 0) return 0;
  const inside = Math.min(1, Math.max(0, (at - piece.from) / (piece.to - piece.from)));
  return ((starts[low] ?? 0) + inside * piece.width) / total;
}

const knownStarts = new WeakMap<readonly Piece[], readonly number[]>();

function startsOf(pieces: readonly Piece[]): readonly number[] {
  const known = knownStarts.get(pieces);
  if (known !== undefined) return known;
  const starts: number[] = [];
  let sum = 0;
  for (const { width } of pieces) {
    starts.push(sum);
    sum += width;
  }
  knownStarts.set(pieces, starts);
  return starts;
}

function breaksOf(pieces: readonly Piece[], total: number): Scale["breaks"] {
  return pieces.filter(({ from, to, width }) => width < to - from).map(({ from, to }) => ({
    place: placeOf((from + to) / 2, pieces, total),
    ms: to - from,
    end: placeOf(to, pieces, total),
    until: to,
  }));
}

export interface Bar {
  readonly row: Row;
  /** Which line of its row. */
  readonly line: number;
  /** From 0 to 1. */
  readonly left: number;
  readonly right: number;
  readonly tone: Tone | "open";
  /** The first of those it stands for. */
  readonly span: Span;
  readonly count: number;
}

export interface Room {
  /** Pixels of the whole axis. */
  readonly width: number;
  /** What is in sight, from 0 to 1. */
  readonly from: number;
  readonly to: number;
}

export interface Drawing {
  readonly bars: readonly Bar[];
  /** Lines of each row; 0: the row has nothing at all. */
  readonly lines: Readonly<Record<Row, number>>;
}

const MOST_LINES = 5;
/** A bar is at least so wide; what would begin inside it is one with it. */
const LEAST_PIXELS = 3;

export function layOut(spans: readonly Span[], scale: Scale, now: number, room: Room): Drawing {
  const lines = { model: 0, early: 0, call: 0, wait: 0 };
  const bars: Bar[] = [];
  const ends: Record<Row, number[]> = { model: [], early: [], call: [], wait: [] };
  const last = new Map<string, { bar: Bar; index: number }>();
  const least = LEAST_PIXELS / Math.max(1, room.width);
  for (const span of [...spans].sort((left, right) => left.from - right.from)) {
    const line = freeLine(ends[span.row], span.from);
    ends[span.row][line] = Math.max(ends[span.row][line] ?? 0, span.to ?? now);
    lines[span.row] = Math.max(lines[span.row], line + 1);
    const left = scale.place(span.from);
    const right = Math.max(scale.place(span.to ?? now), left + least);
    if (right < room.from || left > room.to) continue;
    const before = last.get(`${span.row}${line}`);
    if (before !== undefined && left < before.bar.left + least) {
      before.bar = join(before.bar, span, right);
      bars[before.index] = before.bar;
      continue;
    }
    const bar: Bar = { row: span.row, line, left, right, tone: span.to === null ? "open" : span.tone, span, count: 1 };
    last.set(`${span.row}${line}`, { bar, index: bars.push(bar) - 1 });
  }
  return { bars, lines };
}

/** The worst of them shows. */
function join(bar: Bar, span: Span, right: number): Bar {
  const rank = ["unused", "good", "used", "unknown", "bad", "open"] as const;
  const tone = span.to === null ? "open" : span.tone;
  return {
    ...bar,
    right: Math.max(bar.right, right),
    count: bar.count + 1,
    tone: rank.indexOf(tone) > rank.indexOf(bar.tone) ? tone : bar.tone,
  };
}

/** The first line that is free at this time; the last one takes what has no other place. */
function freeLine(ends: readonly number[], from: number): number {
  const free = ends.findIndex((end) => end <= from);
  return free >= 0 ? free : Math.min(ends.length, MOST_LINES - 1);
}

const STEPS = [1, 2, 5];

/** Times at even distances for the axis, no more than `most`. */
export function ticks(scale: Scale, most: number): readonly { readonly place: number; readonly ms: number }[] {
  const length = scale.to - scale.from;
  if (scale.breaks.length > 0 || length <= 0) return afterBreaks(scale, most);
  let step = 1;
  for (let exponent = 0; length / step > most; exponent++) step = (STEPS[exponent % 3] ?? 1) * 10 ** Math.floor(exponent / 3);
  const found: { place: number; ms: number }[] = [];
  for (let ms = 0; ms <= length; ms += step) found.push({ place: scale.place(scale.from + ms), ms });
  return found;
}

/** An axis with shortened times has no even distances: it says how late it is at its ends and after each. */
function afterBreaks({ from, to, breaks }: Scale, most: number): readonly { readonly place: number; readonly ms: number }[] {
  if (to <= from) return [];
  const found = [{ place: 0, ms: 0 }];
  for (const { end, until } of breaks) {
    const last = found[found.length - 1]?.place ?? 0;
    if (end - last >= 1 / most && 1 - end >= 1 / most) found.push({ place: end, ms: until - from });
  }
  return [...found, { place: 1, ms: to - from }];
}
