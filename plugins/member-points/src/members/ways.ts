/** What became of points that moved, in the words of their sources. */
export const ways = ['granted', 'returned', 'consumed', 'reversed', 'expired'] as const
export type Way = (typeof ways)[number]

/** Journals whose points come in without being earned, or leave without being spent, by their kind. */
const waysOfKinds: ReadonlyMap<string, Way> = new Map([
  ['money.reverse', 'returned'],
  ['points.expire', 'expired'],
  ...['points.refund', 'points.recover', 'points.adjust-deduct', 'points.forfeit'].map(
    (kind) => [kind, 'reversed'] as const,
  ),
])

/** @param units that entered the account, or left it when they are below zero */
export const movedAs = (kind: string, units: number): Way =>
  waysOfKinds.get(kind) ?? (units > 0 ? 'granted' : 'consumed')
