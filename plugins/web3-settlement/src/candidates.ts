import type { PaymentOrder, PaymentTransaction } from '@plinth/money/payments'
import type { Chain } from '@plinth/web3'
import type { ClaimedOrder } from './claim-reader.ts'
import type { ReviewRow } from './entities.ts'
import type { Parts } from './parts.ts'
import { planSettlement, type SettlementPlan } from './planning/plan.ts'
import type { ConsumedTransfer, PlanInput } from './planning/plan-input.ts'
import type { TransferSelector } from './planning/transfers.ts'

/** Type of the payments that this plugin records (document 3 of the specification, "Web3 settlement records"). */
export const settlementType = 'web3-settlement'
const hashesPerQuery = 100
const hashPattern = /^0x[0-9a-f]{64}$/

interface CandidateQuestion {
  readonly outTradeNo: string
  /** Default: the order that the database contains. */
  readonly order?: PaymentOrder | undefined
  /** Default: the transaction that the order specifies. */
  readonly transactionHash?: string | null | undefined
  readonly pick?: TransferSelector | undefined
  readonly wasMined?: boolean | undefined
  readonly requiredConfirmations?: number | null | undefined
}

export interface Candidate {
  readonly plan: SettlementPlan
  /** Input from which the plan was calculated. */
  readonly input: PlanInput
  readonly order: PaymentOrder | undefined
  readonly chain: Chain | undefined
  /** Time when the chain responded, in milliseconds of the monotonic clock. */
  readonly answeredAt: number
}

interface Asked {
  readonly at: number
  readonly question: CandidateQuestion
  readonly order: PaymentOrder | undefined
  readonly chain: Chain | undefined
}

type PlanResponses = Partial<Pick<PlanInput, 'facts' | 'consumed' | 'claims' | 'hasMoreClaims' | 'isSentByBuyer'>>

type CandidateDependencies = Pick<
  Parts,
  'payments' | 'chains' | 'clock' | 'claims' | 'blockTimeToleranceMs' | 'amountTolerance'
>

/** Compares orders with their chains and with transfers that are already used. Writes nothing. */
export class Candidates {
  readonly #parts: CandidateDependencies

  constructor(parts: CandidateDependencies) {
    this.#parts = parts
  }

  async of(question: CandidateQuestion): Promise<Candidate> {
    const [candidate] = await this.ofMany([question])
    if (candidate === undefined) throw new Error('A question has one candidate')
    return candidate
  }

  /**
   * Returns one candidate per question, in the same order. Queries each chain in batches of 100 transactions.
   *
   * @param questions at most 200
   */
  async ofMany(questions: readonly CandidateQuestion[]): Promise<readonly Candidate[]> {
    const { clock, claims: reader, blockTimeToleranceMs, amountTolerance } = this.#parts
    const orders = await this.#ordersOf(questions)
    const known = await this.#chainsOf(orders.values())
    const made: Candidate[] = []
    const plan = (
      { at, question, order, chain }: Asked,
      answers: PlanResponses = {},
      answeredAt = clock.monotonic(),
    ) => {
      const rules = { blockTimeToleranceMs: blockTimeToleranceMs(), amountTolerance: amountTolerance() }
      const about = { order: order ?? null, chain: chain ?? null, ...rules }
      const input = { ...question, ...about, facts: undefined, consumed: [], ...answers }
      const result = planSettlement(input)
      made[at] = { plan: result, input, order, chain, answeredAt }
      return result
    }
    const byChain = new Map<string, Map<string, Asked[]>>()
    for (const [at, question] of questions.entries()) {
      const order = orders.get(question.outTradeNo)
      const chain = order?.chainName == null ? undefined : known.get(order.chainName)
      const hash = (question.transactionHash ?? order?.transactionHash)?.toLowerCase()
      const asked = { at, question, order, chain }
      if (chain?.enabled !== true || hash === undefined || !hashPattern.test(hash)) {
        plan(asked)
        continue
      }
      const byHash = byChain.get(chain.name) ?? new Map<string, Asked[]>()
      byChain.set(chain.name, byHash.set(hash, [...(byHash.get(hash) ?? []), asked]))
    }
    const parts = [...byChain].flatMap(([chainName, byHash]) =>
      partsOf([...byHash], hashesPerQuery).map((part) => ({ chainName, part })),
    )
    // Plans of one batch are created while other batches are still queried.
    await Promise.all(
      parts.map(async ({ chainName, part }) => {
        const { facts, used } = await this.#ask(chainName, part)
        const answeredAt = clock.monotonic()
        const claimed: (ClaimedOrder & { readonly asked: Asked; readonly answers: PlanResponses })[] = []
        for (const [hash, askers] of part) {
          const answers = { facts: facts.get(hash), consumed: used.get(hash)?.map(consumedBy) ?? [] }
          for (const asked of askers) {
            const { order } = asked
            const first = plan(asked, answers, answeredAt)
            if (order?.status === 'pending') claimed.push({ hash, order, plan: first, asked, answers })
          }
        }
        // The sender of the transfer is only known from the plan. The claims of the sender are needed to complete the
        // plan.
        const claimsOn = await reader.read(chainName, claimed)
        for (const one of claimed) plan(one.asked, { ...one.answers, ...claimsOn(one) }, answeredAt)
      }),
    )
    return made
  }

  async #ordersOf(questions: readonly CandidateQuestion[]): Promise<ReadonlyMap<string, PaymentOrder>> {
    const orders = new Map<string, PaymentOrder>()
    const unknown = new Set<string>()
    for (const { outTradeNo, order } of questions) {
      if (order === undefined) unknown.add(outTradeNo)
      else orders.set(outTradeNo, order)
    }
    if (unknown.size === 0) return orders
    return new Map([...orders, ...(await this.#parts.payments.findMany([...unknown]))])
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

  async #ask(chainName: string, part: readonly (readonly [hash: string, askers: readonly Asked[]])[]) {
    const { payments, chains } = this.#parts
    const hashes = part.map(([hash]) => hash)
    // The plan reports a failed query as a reason.
    const facts = await chains.factsOfMany(chainName, hashes).catch((): ReadonlyMap<string, unknown> => new Map())
    // Reads transfers that are already used. Only the settlement of a pending order can be blocked by them.
    const waiting = part.filter(([, askers]) => askers.some(({ order }) => order?.status === 'pending'))
    const transactionHashes = waiting.map(([hash]) => hash)
    const used = waiting.length === 0 ? [] : await payments.transactionsOf({ chainName, transactionHashes })
    return { facts, used: Map.groupBy(used, ({ transactionHash }) => transactionHash) }
  }
}

/**
 * True if the providers of the chain, or its other settings that decide which facts count, changed after the review was
 * planned. Nothing may be settled from such a review, because an operator saw facts of other providers.
 */
export function isPlannedWithOtherSettings(
  { planSnapshot, createdAt }: Pick<ReviewRow, 'planSnapshot' | 'createdAt'>,
  chain: Pick<Chain, 'settingsDigest' | 'updatedAt'> | undefined,
): boolean {
  if (chain === undefined) return false
  const { chainSettingsDigest: planned } = planSnapshot
  // Plans of earlier releases have no digest, so any later change of the chain counts.
  if (planned === undefined) return (chain.updatedAt ?? 0) >= createdAt.getTime()
  return planned !== (chain.settingsDigest ?? null)
}

function partsOf<T>(list: readonly T[], size: number): readonly (readonly T[])[] {
  return Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size))
}

/**
 * Returns the transfer that a payment has used. The event key ends with the log index at the time of the settlement.
 */
export const consumedBy = ({ outTradeNo, type, eventKey, logOrdinal }: PaymentTransaction): ConsumedTransfer => {
  const logIndex = /:(\d+)$/.exec(eventKey ?? '')?.[1]
  const settled = type === settlementType ? outTradeNo : null
  return { outTradeNo: settled, logOrdinal, logIndex: logIndex === undefined ? null : Number(logIndex) }
}
