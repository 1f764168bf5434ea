/**
 * Codes of the modules that the documents name, in the order in which they are shown. A module is listed when a plugin
 * contributes it; modules of other codes come after these, by their code.
 */
export const knownModules = [
  'cms',
  'blog',
  'forum',
  'mall',
  'advertising',
  'ai',
  'chat',
  'distribution',
  'form',
  'live',
  'live-code',
  'marketing',
  'marketplace',
  'meeting',
  'open-platform',
  'payment-platform',
  'reading',
  'short-link',
  'video',
] as const

/** Sorts module codes as they are shown. */
export function byModule(left: string, right: string): number {
  const [a, b] = [left, right].map((code) => (knownModules as readonly string[]).indexOf(code))
  if (a === undefined || b === undefined || a === b) return left < right ? -1 : 1
  return (a === -1 ? knownModules.length : a) - (b === -1 ? knownModules.length : b)
}
