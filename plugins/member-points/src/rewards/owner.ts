import type { AccountRef } from '@plinth/money'

/** The points account of a user. */
export const ownerOf = (userId: number, asset: string): AccountRef => ({
  owner: { type: 'user', id: String(userId) },
  asset,
})

/** The user of an account; null where it belongs to none. */
export const userOf = ({ owner }: Pick<AccountRef, 'owner'>): number | null =>
  owner.type === 'user' ? Number(owner.id) : null
