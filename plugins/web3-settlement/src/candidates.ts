import type { Clock } from '@plinth/kernel'
import type { PaymentOrder, Payments, PaymentTransaction } from '@plinth/money/payments'
import type { Chain, Chains } from '@plinth/web3'
import { type ConsumedTransfer, type PlanInput, planSettlement, type SettlementPlan } from './planning/plan.ts'
import type { TransferPick } from './planning/transfers.ts'

/** Type of the payment transactions of settlements (document 3, "Web3 settlement records"). */
export const settlementType = 'web3-settlement'
/** Transactions that one question to a chain is about. */
const together = 100

/** Which payment of which order is looked at. */
export interface CandidateQuestion {
  readonly outTradeNo: string
  /** The order's own when absent. */
  readonly transactionHash?: string | null | undefined
  readonly pick?: TransferPick | undefined
  readonly wasMined?: boolean | undefined
  readonly requiredConfirmations?: number | null | undefined
}

/** A plan with what it was made of. */
export interface Candidate {
  readonly plan: SettlementPlan
  readonly order: PaymentOrder | undefined
  readonly chain: Chain | undefined
  /** Monotonic time at which the first question was asked: nothing in the plan is older. */
  readonly askedAt: number
}

interface CandidateParts {
  readonly payments: Payments
  readonly chains: Chains
  readonly clock: Pick<Clock, 'monotonic'>
}

/** Makes plans: asks for orders, chains, what chains say and what was used already. It writes nothing. */
export class Candidates {
  readonly #parts: CandidateParts

  constructor(parts: CandidateParts) {
    this.#parts = parts
  }

  async of(question: CandidateQuestion): Promise<Candidate> {
    const [candidate] = await this.ofMany([question])
    if (candidate === undefined) throw new Error('A question has one answer')
    return candidate
  }

  /** In the order of the questions, at most 200; one request to a chain for a hundred of its transactions. */
  async ofMany(questions: readonly CandidateQuestion[]): Promise<readonly Candidate[]> {
    const { payments, clock } = this.#parts
    const askedAt = clock.monotonic()
    const orders = await payments.findMany([...new Set(questions.map(({ outTradeNo }) => outTradeNo))])
    const known = await this.#chainsOf(orders.values())
    const asked = questions.map((question) => {
      const order = orders.get(question.outTradeNo)
      const chain = order?.chainName == null ? undefined : known.get(order.chainName)
      const hash = (question.transactionHash ?? order?.transactionHash)?.toLowerCase()
      const isAskable = chain?.enabled === true && hash !== undefined && /^0x[0-9a-f]{64}$/.test(hash)
      return { question, order, chain, hash: isAskable ? hash : undefined }
    })
    const byChain = new Map<string, Set<string>>()
    for (const { chain, hash } of asked) {
      if (chain === undefined || hash === undefined) continue
      byChain.set(chain.name, (byChain.get(chain.name) ?? new Set()).add(hash))
    }
    const found = new Map<string, { facts: unknown; consumed: readonly ConsumedTransfer[] }>()
    await Promise.all([...byChain].map(([name, hashes]) => this.#ask(name, [...hashes], found)))
    return asked.map(({ question, order, chain, hash }) => {
      const answer = chain === undefined || hash === undefined ? undefined : found.get(`${chain.name}:${hash}`)
      const input: PlanInput = {
        ...question,
        order: order ?? null,
        chain: chain ?? null,
        facts: answer?.facts,
        consumed: answer?.consumed ?? [],
      }
      return { plan: planSettlement(input), order, chain, askedAt }
    })
  }

  async #chainsOf(orders: Iterable<PaymentOrder>): Promise<ReadonlyMap<string, Chain>> {
    const names = new Set([...orders].flatMap(({ chainName }) => chainName ?? []))
    const known = new Map<string, Chain>()
    for (const name of names) {
      const chain = await this.#parts.chains.get(name)
      if (chain !== undefined) known.set(name, chain)
    }
    return known
  }

  async #ask(
    chainName: string,
    hashes: readonly string[],
    found: Map<string, { facts: unknown; consumed: readonly ConsumedTransfer[] }>,
  ): Promise<void> {
    const { payments, chains } = this.#parts
    for (let from = 0; from < hashes.length; from += together) {
      const some = hashes.slice(from, from + together)
      // A provider that fails is no failure of ours: the plan says what it means.
      const facts = await chains.factsOfMany(chainName, some).catch((): ReadonlyMap<string, unknown> => new Map())
      const used = await payments.transactionsOf({ chainName, transactionHashes: some })
      for (const hash of some) {
        const consumed = used.filter(({ transactionHash }) => transactionHash === hash).map(consumedBy)
        found.set(`${chainName}:${hash}`, { facts: facts.get(hash), consumed })
      }
    }
  }
}

/** The event key ends with the index that the log had then. */
const consumedBy = ({ outTradeNo, eventKey, logOrdinal }: PaymentTransaction): ConsumedTransfer => {
  const logIndex = /:(\d+)$/.exec(eventKey ?? '')?.[1]
  return { outTradeNo, logOrdinal, logIndex: logIndex === undefined ? null : Number(logIndex) }
}
