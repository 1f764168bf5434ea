import type { Accounts } from '@plinth/iam'

/** Whether a user may still have something done: neither deleted nor disabled. Without users everybody is one. */
export type IsActiveOwner = (ownerId: number) => Promise<boolean>

export function activeOwners(accounts: Pick<Accounts, 'find'> | undefined): IsActiveOwner {
  if (accounts === undefined) return async () => true
  return async (ownerId) => (await accounts.find(ownerId))?.enabled === true
}
