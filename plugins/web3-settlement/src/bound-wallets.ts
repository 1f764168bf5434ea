import type { Accounts } from '@plinth/iam'

/** Name of the provider of wallet identities. */
const walletProvider = 'evm'
/**
 * Stored proofs that show that the user has the key of the address. Null is stored for identities from before proofs
 * existed.
 */
const keyProofs: readonly (string | null)[] = ['ecrecover', null]

/**
 * Returns the user to whose account an address is bound by key; undefined if there is none. A binding that only a
 * contract confirmed does not count, because this contract may have another owner on the chain of the payment.
 *
 * @param address in lower case
 */
export async function findBoundUser(
  accounts: Pick<Accounts, 'findByExternal'>,
  address: string,
): Promise<number | undefined> {
  const account = await accounts.findByExternal({ provider: walletProvider, subject: address })
  return account !== undefined && keyProofs.includes(account.externalProof) ? account.id : undefined
}
