import { web3Addresses, zeroAddress } from '@plinth/web3'
import { findBoundUser } from './bound-wallets.ts'
import type { OrderSettlements, PayerClaim, SettlementView } from './contract.ts'
import { businessError } from './declarations.ts'
import type { Parts } from './parts.ts'

type PayerDependencies = Pick<Parts, 'payments' | 'accounts' | 'walletVerifier' | 'candidates' | 'reviews'>

export class PayerProofs implements OrderSettlements {
  readonly #parts: PayerDependencies

  constructor(parts: PayerDependencies) {
    this.#parts = parts
  }

  async payerMessage(outTradeNo: string): Promise<string> {
    const { chainId, receiver } = await this.#parts.payments.get(outTradeNo)
    const to = receiver === null ? null : web3Addresses.toChecksumAddress(receiver)
    return [
      `I send the payment of order ${outTradeNo} from this address.`,
      '',
      `Chain ID: ${chainId ?? '-'}`,
      `Receiver: ${to ?? '-'}`,
    ].join('\n')
  }

  async provePayer(outTradeNo: string, { address, signature }: PayerClaim): Promise<void> {
    const { payments, accounts } = this.#parts
    const payer = web3Addresses.normalize(address)
    if (payer === null || payer === zeroAddress) throw businessError('payer-invalid', { data: { field: 'address' } })
    const { userId } = await payments.get(outTradeNo)
    if (userId !== null && (await findBoundUser(accounts, payer)) === userId) {
      await payments.provePayer(outTradeNo, payer, 'account')
      return
    }
    if (!(await this.#isSigned(outTradeNo, payer, signature)))
      throw businessError('payer-not-proven', { data: { address: payer } })
    await payments.provePayer(outTradeNo, payer, 'signature')
  }

  async view(outTradeNo: string): Promise<SettlementView> {
    const { plan } = await this.#parts.candidates.of({ outTradeNo })
    const { state, reasons, causes } = plan
    return { state, reasons: [...reasons, ...causes] }
  }

  underReview(outTradeNos: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#parts.reviews.openOf(outTradeNos)
  }

  /**
   * True if the key of the address signed the message of the order. Contract wallets are not queried, because a single
   * node would decide.
   */
  async #isSigned(outTradeNo: string, address: string, signature: string | undefined): Promise<boolean> {
    const { walletVerifier } = this.#parts
    if (signature === undefined || walletVerifier === undefined) return false
    const message = await this.payerMessage(outTradeNo)
    return walletVerifier.verifyPersonal({ address, message, signature }).valid
  }
}
