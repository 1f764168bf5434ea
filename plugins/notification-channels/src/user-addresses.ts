import type { Account, Accounts } from '@plinth/iam'

/**
 * Returns those of the users who have an address and whose account is enabled.
 *
 * @param accounts undefined in a product without users
 * @param addressOf returns the address of a user; null if there is none
 */
export async function usersWith(
  accounts: Pick<Accounts, 'findAll'> | undefined,
  userIds: readonly number[],
  addressOf: (account: Account) => string | null,
): Promise<ReadonlySet<number>> {
  const found = (await accounts?.findAll(userIds)) ?? []
  return new Set(found.filter((account) => account.enabled && addressOf(account) !== null).map(({ id }) => id))
}
