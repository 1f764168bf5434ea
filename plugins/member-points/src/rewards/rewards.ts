import { exactInteger } from '@plinth/database'
import { fitTextToColumn } from '@plinth/kernel'
import type { PostingResult } from '@plinth/money'
import type { Reward, TaskReward } from '../contract.ts'
import { businessError } from '../declarations.ts'
import type { GrantDetails } from '../lots/lot-moves.ts'
import { accountRefOf } from '../members/account.ts'
import type { Parts } from '../parts.ts'
import { maxRewardPoints, type RuleSettings } from '../rules/rule-types.ts'
import type { EffectiveRule } from '../rules/rules.ts'

type RewardDependencies = Pick<Parts, 'db' | 'clock' | 'ledger' | 'rules' | 'debts'>

interface Grant {
  readonly userId: number
  readonly rule: EffectiveRule
  readonly points: number
  readonly key: string
  /** Kind of the ledger entry, such as `points.task`. */
  readonly kind: string
  /** Source of the points. `type` and `key` together are unique. */
  readonly source: { readonly type: string; readonly key: string }
  readonly reference?: { readonly type: string; readonly id: string }
  readonly actor?: string
  readonly reason?: string
}

interface Granted extends PostingResult {
  /** Id of the new source. A grant that an earlier call executed has no such row. */
  readonly sourceId: number
  /** The part of the points that paid debts from refunds. */
  readonly settled: number
}

export class Rewards {
  readonly #parts: RewardDependencies

  constructor(parts: RewardDependencies) {
    this.#parts = parts
  }

  /**
   * Credits points once per key. Debts from refunds are paid first.
   *
   * @returns undefined if the account is closed, for example after the deletion of the member
   * @throws the errors of `Ledger.credit`
   */
  async grant({ userId, rule, points, key, kind, source, ...notes }: Grant): Promise<Granted | undefined> {
    const { db, clock, ledger, debts } = this.#parts
    const { code, version, asset } = rule
    const ref = accountRefOf(userId, asset)
    return ledger.transactional([ref], async () => {
      const now = clock.now()
      if ((await ledger.find(ref))?.status === 'closed') return undefined
      const sourceId = db.newId()
      const isRepeated = (await this.#find(source.type, source.key)) !== undefined
      const taken = isRepeated ? [] : await debts.settle(userId, asset, points)
      const details: GrantDetails = {
        source: { id: sourceId, ...source },
        expiresAt: rule.expiryOf(now),
        rule: { code, version },
      }
      const posted = await ledger.credit({
        ...ref,
        amount: points,
        key,
        kind,
        lots: details,
        ...notes,
      })
      if (posted.replayed) await debts.restore(taken)
      else if (taken.length > 0) await debts.collect(userId, asset, taken, { sourceId, journalId: posted.journalId })
      const settled = posted.replayed ? 0 : taken.reduce((sum, { points }) => sum + points, 0)
      return { ...posted, sourceId, settled }
    })
  }

  /** @throws BusinessError `404` `member-points.rule-unknown`; `400` `member-points.key-invalid` */
  async rewardTask({ task, userId, subject }: TaskReward): Promise<Reward> {
    const { rules, clock } = this.#parts
    if (subject !== undefined || task === 'review-reward') assertKey('subject', subject ?? '', 100)
    const rule = await rules.at(task, clock.now())
    if (rule.type !== 'task') throw businessError('rule-unknown', { params: { code: task }, data: { code: task } })
    const key = rule.config.once === true ? onceRewardKey(task, userId) : taskKey(task, userId, subject)
    // A repeated call returns the earlier reward, even if the rule now grants another number.
    const earlier = await this.#find(task, key)
    if (earlier !== undefined) return { ...earlier, settled: 0, replayed: true }
    const points = rule.config.points ?? 0
    if (!rule.enabled || points === 0) return noReward
    const granted = await this.grant({
      userId,
      rule,
      points,
      key: `member-points:${key}`,
      kind: 'points.task',
      source: { type: task, key },
      reference: { type: task, id: subject ?? String(userId) },
    })
    return rewardOf(points, granted)
  }

  /** @throws BusinessError `400` `member-points.key-invalid`, `400` `member-points.amount-invalid` */
  async rewardLottery(userId: number, operationKey: string, points: number): Promise<Reward> {
    assertKey('operationKey', operationKey, 150)
    if (!Number.isSafeInteger(points) || points < 1 || points > maxRewardPoints) {
      throw businessError('amount-invalid', { params: { limit: maxRewardPoints }, data: { field: 'points' } })
    }
    const rule = await this.#parts.rules.at('marketing-lottery', this.#parts.clock.now())
    if (!rule.enabled) return noReward
    const key = `${userId}:${operationKey}`
    const granted = await this.grant({
      userId,
      rule,
      points,
      key: `member-points:marketing-lottery:${key}`,
      kind: 'points.lottery',
      source: { type: 'marketing-lottery', key },
      reference: { type: 'marketing-lottery', id: fitTextToColumn(operationKey, 128) },
    })
    return rewardOf(points, granted)
  }

  async #find(type: string, key: string): Promise<{ readonly points: number; readonly journalId: number } | undefined> {
    const [row] = await this.#parts.db.query<Record<string, unknown>>(
      'select granted, journal_id from points_source where source_type = ? and source_id = ?',
      [type, key],
    )
    if (row === undefined) return undefined
    return { points: exactInteger(row['granted']), journalId: exactInteger(row['journal_id']) }
  }
}

const noReward: Reward = { points: 0, settled: 0, journalId: null, replayed: false }

const rewardOf = (points: number, granted: Granted | undefined): Reward =>
  granted === undefined
    ? noReward
    : { points, settled: granted.settled, journalId: granted.journalId, replayed: granted.replayed }

export const isRewardedOnce = (task: string, { once = false }: Pick<RuleSettings, 'once'>): boolean =>
  once || task === 'profile-completion' || task === 'first-order'

export const onceRewardKey = (task: string, userId: number): string =>
  task === 'review-reward' ? `task:${task}:${userId}` : taskKey(task, userId, undefined)

/** Returns the idempotency key of a task. Each key is rewarded once. */
function taskKey(task: string, userId: number, subject: string | undefined): string {
  if (task === 'profile-completion') return `${userId}:profile-completion`
  if (task === 'first-order') return `${userId}:mall:first-order`
  if (task === 'review-reward') return `review:${subject}`
  return ['task', task, userId, ...(subject === undefined ? [] : [subject])].join(':')
}

function assertKey(field: string, value: string, limit: number): void {
  if (/^[!-~](?:[ -~]*[!-~])?$/.test(value) && value.length <= limit) return
  throw businessError('key-invalid', { params: { field, limit }, data: { field } })
}
