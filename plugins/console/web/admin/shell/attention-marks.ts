import type { AttentionMark } from '../api/page-types.ts'

interface Marked {
  readonly item: { readonly mark: AttentionMark | null }
  readonly count: number
}

/** Returns true while the thing is snoozed, or done without a further case. */
const isAside = ({ item: { mark }, count }: Marked): boolean =>
  mark?.snoozedUntil != null || (mark?.doneCount != null && count <= mark.doneCount)

/** Separates what needs an operator now from what operators have put aside. */
export const sortedByMark = <T extends Marked>(counted: readonly T[]) => ({
  open: counted.filter((one) => !isAside(one)),
  aside: counted.filter(isAside),
})

/** Hour of the day at which something returns that is snoozed until another day. */
const morning = 9

/** Times until which something can be snoozed, in the time zone of the browser. */
export function snoozeTimes(now: Date): Readonly<Record<'later' | 'tomorrow' | 'monday', Date>> {
  const morningIn = (days: number) => new Date(now.getFullYear(), now.getMonth(), now.getDate() + days, morning)
  return {
    later: new Date(now.getTime() + 4 * 3_600_000),
    tomorrow: morningIn(1),
    monday: morningIn((8 - now.getDay()) % 7 || 7),
  }
}
