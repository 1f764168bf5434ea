import { maxBlockPower, RunningHash } from './running-hash.ts'

/**
 * A hash table from fingerprints (two 32-bit numbers) to positive numbers. It uses open addressing in a typed array,
 * with 12 bytes per slot, and is at most half full. A `Map` would need one object for each key.
 */
class FingerprintTable {
  #size = 0
  #slots = emptySlots(64)

  get size(): number {
    return this.#size
  }

  get(a: number, b: number): number {
    const slots = this.#slots
    return slots[slotOf(slots, a, b) + 2] ?? 0
  }

  /**
   * Sets the number for a fingerprint.
   *
   * @param payload an integer from 1 to 2^31 - 1
   */
  set(a: number, b: number, payload: number): void {
    const at = slotOf(this.#slots, a, b)
    const isNew = this.#slots[at + 2] === 0
    this.#slots[at] = a
    this.#slots[at + 1] = b
    this.#slots[at + 2] = payload
    if (isNew && ++this.#size * 2 * slotLength > this.#slots.length) this.#grow()
  }

  /** Calls the function with the first half of each fingerprint. */
  eachKey(call: (a: number) => void): void {
    for (let from = 0; from < this.#slots.length; from += slotLength) {
      if (this.#slots[from + 2] !== 0) call(this.#slots[from] ?? 0)
    }
  }

  #grow(): void {
    const old = this.#slots
    const slots = emptySlots((old.length / slotLength) * 2)
    for (let from = 0; from < old.length; from += slotLength) {
      if (old[from + 2] !== 0) slots.set(old.subarray(from, from + slotLength), slotOf(slots, old[from], old[from + 1]))
    }
    this.#slots = slots
  }
}

/** Numbers in one slot: the two halves of the fingerprint, and the payload. A free slot has the payload 0. */
const slotLength = 3
const emptySlots = (count: number) => new Int32Array(count * slotLength)

/** Returns the position of the slot that contains the fingerprint, or of the free slot where it can be stored. */
function slotOf(slots: Int32Array, a = 0, b = 0): number {
  const last = slots.length / slotLength - 1
  let at = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0x9e3779b1)
  at = (at ^ (at >>> 15)) & last
  for (;;) {
    const from = at * slotLength
    if (slots[from + 2] === 0 || (slots[from] === a && slots[from + 1] === b)) return from
    at = (at + 1) & last
  }
}

/** Minimum characters of an indexed text. */
export const minIndexedLength = 4

/**
 * Maximum number of lengths that are compared at one place. If there are more, the search assumes the longest remaining
 * one.
 */
const maxLengthsPerPlace = 16

/** Multiplier that spreads the hash of four bytes over the whole filter. */
const spread = 0x9e3779b1

/** Binary logarithm of the minimum and the maximum filter size in bits. The maximum of 2^22 bits needs 512 KiB. */
const [narrowest, widest] = [12, 22]

/** Bits of the filter for each beginning of a text. More bits cause fewer unnecessary lookups. */
const bitsPerBeginning = 64

/**
 * Finds all occurrences of many texts in one text. The time does not depend on how many texts are indexed or how long
 * they are.
 *
 * An indexed text of 2^p to 2^(p+1) - 1 characters is identified by its length and the fingerprints of two blocks of
 * 2^p characters: the first and the last ones, which together cover the text. The text itself is not stored. The search
 * reads four bytes at each place of the searched text. They determine the values of p for which an indexed text may
 * begin there. Each of these values costs one lookup of the first block, and each length of the texts with this block
 * costs one lookup of the last block. Adding a text takes one pass over it.
 *
 * An indexed text is always found. A wrong match is possible in two cases: two 64-bit fingerprints are equal by chance,
 * or more than `maxLengthsPerPlace` indexed texts with different lengths have the same first block.
 */
export class TextIndex {
  /** Maps the first block of texts to the position in `#lengths` of the longest text that begins with this block. */
  readonly #heads = new FingerprintTable()
  /** Combined fingerprints of first block, last block and length of all texts. */
  readonly #texts = new FingerprintTable()
  /** Linked lists of text lengths for each first block, longest first. Index 0 marks the end of a list. */
  readonly #lengths: number[] = [0]
  readonly #next: number[] = [0]
  /** Maps the first four bytes of texts to their values of p, one bit for each value. */
  readonly #beginnings = new FingerprintTable()
  /** A Bloom filter with one bit for each beginning of a text. The hash of the first four bytes selects the bit. */
  #filter = new Int32Array(2 ** narrowest / 32)
  #shift = 32 - narrowest

  get isEmpty(): boolean {
    return this.#beginnings.size === 0
  }

  /** Returns true if exactly this text was added. */
  has(text: string): boolean {
    const power = powerOf(text.length)
    const hash = new RunningHash(text)
    hash.block(0, power)
    return this.#isText(hash, hash.a, hash.b, 0, text.length, power)
  }

  /**
   * Adds a text to find.
   *
   * @param text of `minIndexedLength` to 2^30 UTF-16 units
   */
  add(text: string): void {
    const power = powerOf(text.length)
    const hash = new RunningHash(text)
    hash.block(0, power)
    const { a, b } = hash
    if (this.#heads.get(a, b) === 0) this.#begin(hash.units, power)
    this.#enterLength(a, b, text.length)
    hash.block(text.length - 2 ** power, power)
    this.#texts.set(keyA(a, hash.a), keyB(b, hash.b, text.length), 1)
  }

  /**
   * Returns all places where an indexed text occurs, in ascending order: start, end, start, end and so on. Places that
   * overlap or touch are joined.
   */
  find(text: string): readonly number[] {
    const places: number[] = []
    if (this.isEmpty || text.length < minIndexedLength) return places
    const filter = this.#filter
    const shift = this.#shift
    const hash = new RunningHash(text)
    const { units } = hash
    let from = -1
    let to = -1
    let bytes = 0
    for (let at = 0; at < text.length; at++) {
      bytes = (bytes << 8) | ((units[at] ?? 0) & 0xff)
      const bit = Math.imul(bytes, spread) >>> shift
      if (((filter[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0 || at < minIndexedLength - 1) continue
      const start = at - minIndexedLength + 1
      const candidates = this.#beginnings.get(bytes, 0)
      const length = this.#longestAt(hash, start, text.length - start, candidates)
      if (length === 0) continue
      if (start > to) {
        if (from >= 0) places.push(from, to)
        from = start
      }
      to = Math.max(to, start + length)
    }
    if (from >= 0) places.push(from, to)
    return places
  }

  /**
   * Returns the length of the longest indexed text at `start`, or 0. `room` is the number of characters from `start` to
   * the end of the searched text.
   */
  #longestAt(hash: RunningHash, start: number, room: number, candidates: number): number {
    let tries = 0
    for (let left = candidates; left !== 0; ) {
      const power = 31 - Math.clz32(left)
      left ^= 1 << power
      if (2 ** power > room) continue
      hash.block(start, power)
      const { a, b } = hash
      for (let entry = this.#heads.get(a, b); entry !== 0; entry = this.#next[entry] ?? 0) {
        const length = this.#lengths[entry] ?? 0
        if (length > room) continue
        if (tries++ === maxLengthsPerPlace || this.#isText(hash, a, b, start, length, power)) return length
      }
    }
    return 0
  }

  #isText(hash: RunningHash, a: number, b: number, start: number, length: number, power: number): boolean {
    hash.block(start + length - 2 ** power, power)
    return this.#texts.get(keyA(a, hash.a), keyB(b, hash.b, length)) !== 0
  }

  #enterLength(a: number, b: number, length: number): void {
    let before = 0
    let entry = this.#heads.get(a, b)
    while (entry !== 0 && (this.#lengths[entry] ?? 0) > length) {
      before = entry
      entry = this.#next[entry] ?? 0
    }
    if (entry !== 0 && this.#lengths[entry] === length) return
    const added = this.#lengths.push(length) - 1
    this.#next.push(entry)
    if (before === 0) this.#heads.set(a, b, added)
    else this.#next[before] = added
  }

  #begin(units: Uint16Array, power: number): void {
    let bytes = 0
    for (let at = 0; at < minIndexedLength; at++) bytes = (bytes << 8) | ((units[at] ?? 0) & 0xff)
    const powers = this.#beginnings
    powers.set(bytes, 0, powers.get(bytes, 0) | (1 << power))
    if (powers.size * bitsPerBeginning <= 2 ** (32 - this.#shift) || this.#shift === 32 - widest) this.#mark(bytes)
    else {
      this.#shift--
      this.#filter = new Int32Array(this.#filter.length * 2)
      powers.eachKey((each) => this.#mark(each))
    }
  }

  #mark(bytes: number): void {
    const bit = Math.imul(bytes, spread) >>> this.#shift
    this.#filter[bit >>> 5] = (this.#filter[bit >>> 5] ?? 0) | (1 << (bit & 31))
  }
}

const powerOf = (length: number) => Math.min(31 - Math.clz32(length), maxBlockPower)
const keyA = (head: number, tail: number) => (Math.imul(head, 0x2c1b3c6d) + tail) | 0
const keyB = (head: number, tail: number, length: number) => (Math.imul(head ^ length, 0x297a2d39) + tail) | 0

/** Merges two lists of places that `TextIndex.find` returned. */
export function mergePositions(a: readonly number[], b: readonly number[]): readonly number[] {
  if (a.length === 0) return b
  if (b.length === 0) return a
  const merged: number[] = []
  let to = -1
  for (let atA = 0, atB = 0; atA < a.length || atB < b.length; ) {
    const isA = (a[atA] ?? Number.POSITIVE_INFINITY) <= (b[atB] ?? Number.POSITIVE_INFINITY)
    const [list, at] = isA ? [a, atA] : [b, atB]
    if (isA) atA += 2
    else atB += 2
    const [start, end] = [list[at] ?? 0, list[at + 1] ?? 0]
    if (start > to) {
      merged.push(start, end)
      to = end
    } else if (end > to) {
      merged[merged.length - 1] = end
      to = end
    }
  }
  return merged
}
