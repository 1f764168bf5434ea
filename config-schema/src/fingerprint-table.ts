/**
 * A map from two 32-bit halves of a fingerprint to a number above 0: open addressing in typed arrays, 12 bytes a slot, at
 * most half full. A `Map` would make an object of every key.
 */
export class FingerprintTable {
  #size = 0
  #slots = emptySlots(64)

  get size(): number {
    return this.#size
  }

  get(a: number, b: number): number {
    const slots = this.#slots
    return slots[slotOf(slots, a, b) + 2] as number
  }

  /** @param payload a whole number from 1 to 2^31 - 1 */
  set(a: number, b: number, payload: number): void {
    const at = slotOf(this.#slots, a, b)
    const isNew = this.#slots[at + 2] === 0
    this.#slots[at] = a
    this.#slots[at + 1] = b
    this.#slots[at + 2] = payload
    if (isNew && ++this.#size * 2 * width > this.#slots.length) this.#grow()
  }

  /** Calls with the first half of each fingerprint. */
  eachKey(call: (a: number) => void): void {
    for (let from = 0; from < this.#slots.length; from += width) {
      if (this.#slots[from + 2] !== 0) call(this.#slots[from] as number)
    }
  }

  #grow(): void {
    const old = this.#slots
    const slots = emptySlots((old.length / width) * 2)
    for (let from = 0; from < old.length; from += width) {
      if (old[from + 2] !== 0) slots.set(old.subarray(from, from + width), slotOf(slots, old[from], old[from + 1]))
    }
    this.#slots = slots
  }
}

/** Numbers in a slot: both halves and the payload, which is 0 in a free slot. */
const width = 3
const emptySlots = (count: number) => new Int32Array(count * width)

/** Where the fingerprint is, or the free slot where it would be. */
function slotOf(slots: Int32Array, a = 0, b = 0): number {
  const last = slots.length / width - 1
  let at = Math.imul(a ^ Math.imul(b, 0x85ebca6b), 0x9e3779b1)
  at = (at ^ (at >>> 15)) & last
  for (;;) {
    const from = at * width
    if (slots[from + 2] === 0 || (slots[from] === a && slots[from + 1] === b)) return from
    at = (at + 1) & last
  }
}
