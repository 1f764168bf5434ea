import { distance } from 'fastest-levenshtein'

/**
 * Returns the lower-case words of a name with any separators: `rateLimit.default-window`, `RATE_LIMIT_DEFAULT_WINDOW`.
 */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[.\-_:\s]+/)
    .filter((word) => word !== '')
}

/** True if the texts differ only by two swapped neighbouring letters. */
function isSwap(left: string, right: string): boolean {
  const at = [...left].findIndex((letter, index) => letter !== right[index])
  const swapped = left.slice(0, at) + left.charAt(at + 1) + left.charAt(at) + left.slice(at + 2)
  return at >= 0 && swapped === right
}

/**
 * Returns the distance of two names by the words that differ. In long names with a common beginning, a plain edit
 * distance would treat all siblings as near. Returns `undefined` for unrelated names.
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
  // A segment is missing or extra.
  if (a.length === 0 || b.length === 0)
    return words <= 3 && words < shared + (words === 0 ? 1 : 0) ? 2 * words : undefined
  const [from, to] = [a.join('-'), b.join('-')]
  const edits = isSwap(from, to) ? 1 : distance(from, to)
  // Swapped letters may count as two edits, so two edits are allowed even in a short word if the name otherwise agrees.
  const fewest = shared > 0 && Math.min(from.length, to.length) > 3 ? 2 : 1
  if (edits <= Math.max(fewest, Math.floor(Math.max(from.length, to.length) * 0.4))) return edits
  // Another segment in the middle of a name that is otherwise the same.
  return head > 0 && tail > 0 && shared >= 3 && words <= 3 ? edits + 4 : undefined
}

/** Longer names are not compared: the cost is the square of the length for each candidate. */
const maxNameLength = 200

/**
 * Returns the candidate that was probably meant: misspelt, with other separators, or with a missing or different
 * segment. If several are equally near, the first by name. Returns `undefined` for a name of more than 200 characters.
 */
export function nearest(name: string, candidates: Iterable<string>): string | undefined {
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

/** Returns a hint for messages about an unknown name, with a space before it; empty if no candidate is near. */
export function didYouMean(name: string, candidates: Iterable<string>): string {
  const near = nearest(name, candidates)
  return near === undefined ? '' : ` Did you mean "${near}"?`
}
