const scratch = Buffer.allocUnsafe(1024)

/**
 * The same text in one piece. Keys are put together from parts, and a text made so holds on to all of its parts: kept as
 * it comes, a key of 45 characters costs 240 bytes instead of 100.
 */
export function compactKey(key: string): string {
  if (key.length > scratch.length) return key
  const compact = scratch.toString('latin1', 0, scratch.write(key, 'latin1'))
  return compact === key ? compact : key
}
