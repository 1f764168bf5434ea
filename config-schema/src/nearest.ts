import { distance } from 'fastest-levenshtein'

/**
 * Splits a name into lower-case words at any separator. `rateLimit.default-window` and `RATE_LIMIT_DEFAULT_WINDOW` give
 * the same words.
 */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[.\-_:\s]+/)
    .filter((word) => word !== '')
}

/** Returns true if the texts differ only in two neighbouring letters that are swapped. */
function isSwap(left: string, right: string): boolean {
  const at = [...left].findIndex((letter, index) => letter !== right[index])
  const swapped = left.slice(0, at) + left.charAt(at + 1) + left.charAt(at) + left.slice(at + 2)
  return at >= 0 && swapped === right
}

/**
 * Returns how different two names are, or `undefined` if they are unrelated. Words at the beginning and the end that
 * are equal are not compared. Otherwise all long names with the same beginning would be near each other.
 */
function difference(left: readonly string[], right: readonly string[]): number | undefined {
  const shortest = Math.min(left.length, right.length)
  let head = 0
  while (head < shortest && left[head] === right[head]) head++
  let tail = 0
  while (tail < shortest - head && left.at(-1 - tail) === right.at(-1 - tail)) tail++
  const a = left.slice(head, left.length - tail)
  const b = right.slice(head, right.length - tail)
  const words = Math.max(a.length, b.length)
  const shared = head + tail
  // All words of one name occur in the other name. The names are near if at most three words are added, and more words
  // are equal than added.
  if (a.length === 0 || b.length === 0)
    return words <= 3 && words < shared + (words === 0 ? 1 : 0) ? 2 * words : undefined
  const [from, to] = [a.join('-'), b.join('-')]
  const edits = isSwap(from, to) ? 1 : distance(from, to)
  // Two swapped letters can count as two edits. Therefore two edits are allowed even in a short word, if other words
  // are equal.
  const fewest = shared > 0 && Math.min(from.length, to.length) > 3 ? 2 : 1
  if (edits <= Math.max(fewest, Math.floor(Math.max(from.length, to.length) * 0.4))) return edits
  // One word in the middle differs, and the rest of the name is equal.
  return head > 0 && tail > 0 && shared >= 3 && words <= 3 ? edits + 4 : undefined
}

/** Maximum characters of a compared name, because the time for each candidate grows with the square of the length. */
const maxNameLength = 200

/**
 * Returns the candidate that the author of a name probably meant: a candidate with another spelling, other separators,
 * or one word that is missing or different. If several are equally near, the first one by name. Returns `undefined` for
 * a name above 200 characters.
 */
export function nearestName(name: string, candidates: Iterable<string>): string | undefined {
  if (name.length > maxNameLength) return undefined
  const words = wordsOf(name)
  let best: string | undefined
  let least = Number.POSITIVE_INFINITY
  for (const candidate of [...candidates].sort()) {
    const apart = difference(words, wordsOf(candidate))
    if (apart !== undefined && apart < least) {
      best = candidate
      least = apart
    }
  }
  return best
}

/**
 * Returns a hint for an error message, with a space in front: ` Did you mean "..."?`. Returns an empty text if no
 * candidate is near.
 */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearestName(name, candidates)
  return near === undefined ? '' : ` Did you mean "${near}"?`
}
