/*
 * Polynomial hashes of every prefix of a text. The hash of any part follows from two of them in a fixed number of steps
 * (Karp and Rabin). Two independent 32-bit hashes are the fingerprint.
 */

/** Random for each process. Odd, so that no character is lost in the lower bits. */
const drawn = () => (Math.random() * 2 ** 32) | 1
const baseA = drawn()
const baseB = drawn()

/** The longest block has 2 to this power characters. */
export const highestPower = 30

const powersOf = (base: number) => {
  const powers = new Int32Array(highestPower + 1)
  powers[0] = base
  for (let power = 1; power <= highestPower; power++) {
    powers[power] = Math.imul(powers[power - 1] ?? 0, powers[power - 1] ?? 0)
  }
  return powers
}
/** Each base to the power of 2, 4, 8 and so on. */
const powersA = powersOf(baseA)
const powersB = powersOf(baseB)

/** Memory for one text: its UTF-16 units and the two hashes of each prefix. */
class Room {
  readonly bytes: Buffer
  readonly units: Uint16Array
  /** Two numbers for each prefix, the empty one first. Allocated only if needed, because most texts need no hashes. */
  #hashes: Int32Array | undefined

  constructor(length: number) {
    const memory = new ArrayBuffer(length * 2)
    this.bytes = Buffer.from(memory)
    this.units = new Uint16Array(memory)
  }

  get hashes(): Int32Array {
    this.#hashes ??= new Int32Array((this.units.length + 1) * 2)
    return this.#hashes
  }
}

/**
 * Memory up to this length is reused for the next text: 2 MiB for the units, and 8 MiB for the hashes if a text needed
 * them.
 */
const keptLength = 2 ** 20
let kept = new Room(2 ** 10)

function roomFor(length: number): Room {
  if (length <= kept.units.length) return kept
  if (length > keptLength) return new Room(length)
  kept = new Room(2 ** Math.ceil(Math.log2(length)))
  return kept
}

/** The hashes of one text, computed when needed. Only one text at a time, because all instances share their memory. */
export class RunningHash {
  /** The text; units after its end belong to another text. */
  readonly units: Uint16Array
  readonly #room: Room
  #hashes: Int32Array = none
  #done = 0
  /** First half of the last fingerprint. */
  a = 0
  /** Second half of the last fingerprint. */
  b = 0

  constructor(text: string) {
    this.#room = roomFor(text.length)
    this.units = this.#room.units
    // Much faster to read than the string, which may be a rope.
    this.#room.bytes.write(text, 'utf16le')
  }

  /**
   * Sets `a` and `b` to the fingerprint of the `2 ** power` characters from `start`. Parts that are never requested are
   * skipped. Therefore `start` must not be before that of the first call, or before that of the last call that skipped
   * a part.
   */
  block(start: number, power: number): void {
    const end = start + 2 ** power
    if (start > this.#done) this.#begin(start)
    if (end > this.#done) this.#continue(end)
    const hashes = this.#hashes
    const [from, to] = [start * 2, end * 2]
    this.a = ((hashes[to] ?? 0) - Math.imul(hashes[from] ?? 0, powersA[power] ?? 0)) | 0
    this.b = ((hashes[to + 1] ?? 0) - Math.imul(hashes[from + 1] ?? 0, powersB[power] ?? 0)) | 0
  }

  /** Hashes start here: only differences matter. */
  #begin(start: number): void {
    const { hashes } = this.#room
    hashes[start * 2] = 0
    hashes[start * 2 + 1] = 0
    this.#done = start
  }

  #continue(end: number): void {
    const { units } = this
    const hashes = this.#room.hashes
    let a = hashes[this.#done * 2] ?? 0
    let b = hashes[this.#done * 2 + 1] ?? 0
    for (let at = this.#done; at < end; at++) {
      const unit = units[at] ?? 0
      a = (Math.imul(a, baseA) + unit) | 0
      b = (Math.imul(b, baseB) + unit) | 0
      hashes[at * 2 + 2] = a
      hashes[at * 2 + 3] = b
    }
    this.#hashes = hashes
    this.#done = end
  }
}

const none = new Int32Array()
