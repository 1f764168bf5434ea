import type { Chain } from '@plinth/web3'

/** Page of a transaction for people; null where the chain names no explorer. `{hash}` in the address is replaced, else it is appended. */
export function explorerUrlOf(
  chain: Pick<Chain, 'explorerTransactionUrl'> | undefined,
  transactionHash: string | null,
): string | null {
  const address = chain?.explorerTransactionUrl
  if (address == null || address === '' || transactionHash === null) return null
  if (address.includes('{hash}')) return address.replaceAll('{hash}', transactionHash)
  return `${address.replace(/\/$/, '')}/${transactionHash}`
}
