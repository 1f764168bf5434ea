import type { Text } from '@plinth/table'

interface Reason {
  readonly title: { readonly title: Text; readonly tone: 'bad' | 'warn' | 'quiet' }
  /** True if an entry can be for one category. Otherwise it is for all categories. */
  readonly hasCategory: boolean
  /** True if the entry also stops required messages, such as passwords and security notices. */
  readonly stopsRequired: boolean
}

/**
 * Why an address is on the list, and which messages an entry stops, from the strongest to the weakest. A weaker reason never
 * replaces a stronger one.
 */
export const reasons = {
  manual: { title: { title: ['By an operator', '人工添加'], tone: 'bad' }, hasCategory: true, stopsRequired: true },
  'hard-bounce': { title: { title: ['Hard bounce', '硬退回'], tone: 'bad' }, hasCategory: false, stopsRequired: true },
  complaint: { title: { title: ['Complaint', '投诉'], tone: 'bad' }, hasCategory: false, stopsRequired: false },
  unsubscribe: { title: { title: ['Unsubscribed', '退订'], tone: 'quiet' }, hasCategory: true, stopsRequired: false },
  'soft-bounce': {
    title: { title: ['Soft bounces', '软退回'], tone: 'warn' },
    hasCategory: false,
    stopsRequired: false,
  },
} as const satisfies Readonly<Record<string, Reason>>

export type SuppressionReason = keyof typeof reasons

const byStrength = Object.keys(reasons) as SuppressionReason[]

/** Category of an entry for all categories. */
export const allCategories = 'all'

/** Returns the reasons that an entry with this reason replaces: itself and the weaker ones. */
export const replacedBy = (reason: SuppressionReason): readonly SuppressionReason[] =>
  byStrength.slice(byStrength.indexOf(reason))

/** Returns the strongest reason that stops a message; undefined if none does. */
export const stoppingReason = (
  found: readonly SuppressionReason[],
  isRequired: boolean,
): SuppressionReason | undefined =>
  byStrength.find((reason) => found.includes(reason) && (!isRequired || reasons[reason].stopsRequired))

const dayMs = 86_400_000

/** Soft bounces: this number within the period, without a delivery between, suppresses the address for the time. */
export const softBounces = { count: 3, withinMs: 30 * dayMs, suppressedMs: 7 * dayMs } as const
