/** What became of points that moved, in the words of their sources. */
export type Way = 'granted' | 'consumed' | 'reversed' | 'expired'

/** What leaves an account without being spent, by the kind of its journal. */
const ways: ReadonlyMap<string, Way> = new Map([
  ['points.expire', 'expired'],
  ...['points.refund', 'points.recover', 'points.adjust-deduct', 'points.forfeit'].map(
    (kind) => [kind, 'reversed'] as const,
  ),
])

/** @param units that entered the account, or left it when they are below zero */
export const movedAs = (kind: string, units: number): Way => (units > 0 ? 'granted' : (ways.get(kind) ?? 'consumed'))
