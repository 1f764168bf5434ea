/** A credit: where the points come from, and until when they count. */
export interface GrantDetails {
  readonly source: { readonly id: number; readonly type: string; readonly key: string }
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  readonly rule?: { readonly code: string; readonly version: number }
}

/** A debit that takes points of a grant back: from its own source first, where it has one. */
export interface ReversalDetails {
  readonly reversed: { readonly sourceId: number | null }
}

/** A debit of what has lapsed of one source. */
export interface ExpiryDetails {
  readonly lapsed: { readonly sourceId: number }
}

/** A debit of points that are claimed as soon as they come back. */
export interface ClaimDetails {
  readonly claimed: readonly { readonly sourceId: number; readonly units: number }[]
}

const has = (detail: unknown, member: string) =>
  typeof detail === 'object' && detail !== null && Object.hasOwn(detail, member)

export const isGrant = (detail: unknown): detail is GrantDetails => has(detail, 'source')
export const isReversal = (detail: unknown): detail is ReversalDetails => has(detail, 'reversed')
export const isClaim = (detail: unknown): detail is ClaimDetails => has(detail, 'claimed')
export const isExpiry = (detail: unknown): detail is ExpiryDetails => has(detail, 'lapsed')
