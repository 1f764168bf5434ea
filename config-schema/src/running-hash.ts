/*
 * Polynomial hashes of all prefixes of a text (Karp and Rabin). The hash of any part can be computed from the hashes of
 * two prefixes in constant time. A fingerprint consists of two independent 32-bit hashes.
 */

/**
 * Returns a random base. It is odd, because multiplication by an even number would lose information in the lower bits.
 */
const randomBase = () => (Math.random() * 2 ** 32) | 1
const baseA = randomBase()
const baseB = randomBase()

/** Blocks have at most 2 to this power characters. */
export const maxBlockPower = 30

const powersOf = (base: number) => {
  const powers = new Int32Array(maxBlockPower + 1)
  powers[0] = base
  for (let power = 1; power <= maxBlockPower; power++) {
    powers[power] = Math.imul(powers[power - 1] ?? 0, powers[power - 1] ?? 0)
  }
  return powers
}
/** The base to the power of 1, 2, 4, 8 and so on. */
const powersA = powersOf(baseA)
const powersB = powersOf(baseB)

/** Memory for one text: its UTF-16 units, and the two hashes of each prefix. */
class TextMemory {
  readonly bytes: Buffer
  readonly units: Uint16Array
  /**
   * Two numbers for each prefix, starting with the empty prefix. Allocated at the first use, because most texts need no
   * hashes.
   */
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
 * Memory for texts up to this length is reused for the next text. It needs 2 MiB for the units, and 8 MiB more if
 * hashes are computed.
 */
const keptLength = 2 ** 20
let kept = new TextMemory(2 ** 10)

function memoryFor(length: number): TextMemory {
  if (length <= kept.units.length) return kept
  if (length > keptLength) return new TextMemory(length)
  kept = new TextMemory(2 ** Math.ceil(Math.log2(length)))
  return kept
}

/**
 * The hashes of one text, computed when needed. Only one instance may be in use at a time, because all instances share
 * their memory.
 */
export class RunningHash {
  /** The UTF-16 units of the text. Units after the end of the text are left over from other texts. */
  readonly units: Uint16Array
  readonly #memory: TextMemory
  #hashes: Int32Array = none
  #done = 0
  /** First half of the fingerprint that `block` computed last. */
  a = 0
  /** Second half of the fingerprint that `block` computed last. */
  b = 0

  constructor(text: string) {
    this.#memory = memoryFor(text.length)
    this.units = this.#memory.units
    // Reading from the buffer is much faster than from the string, because V8 may store a string as a tree of parts.
    this.#memory.bytes.write(text, 'utf16le')
  }

  /**
   * Computes the fingerprint of the `2 ** power` characters from `start`, and stores it in `a` and `b`. Request blocks
   * from left to right: the text before the first block, and each part that a later call skips, is not hashed and
   * cannot be requested afterwards.
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

  /**
   * Starts a new sequence of hashes at this position with 0. Only differences between hashes are used, so the first
   * value does not matter.
   */
  #begin(start: number): void {
    const { hashes } = this.#memory
    hashes[start * 2] = 0
    hashes[start * 2 + 1] = 0
    this.#done = start
  }

  #continue(end: number): void {
    const { units } = this
    const hashes = this.#memory.hashes
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
