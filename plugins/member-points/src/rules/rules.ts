import { UniqueConstraintViolationException } from '@mikro-orm/core'
import { type FoundPage, findPage, type PageWindow } from '@plinth/database'
import { defaultAsset } from '../contract.ts'
import { type AccessAudit, businessError } from '../declarations.ts'
import { noExpiryTime, RuleRow } from '../entities.ts'
import type { Parts } from '../parts.ts'
import { builtInTypes, findSettingProblem, type RuleSettings, type RuleType } from './rule-types.ts'

const dayMs = 86_400_000

export interface EffectiveRule extends Pick<RuleRow, 'code' | 'version' | 'type' | 'asset' | 'enabled' | 'config'> {
  /** Returns when points expire that are granted at the time `at`. Both times are in milliseconds since the epoch. */
  expiryOf(at: number): number
}

interface RuleDraft {
  readonly code: string
  readonly type: RuleType
  readonly enabled: boolean
  readonly asset?: string | undefined
  readonly config: RuleSettings
  readonly displayTitle?: RuleRow['displayTitle'] | undefined
  readonly displayDescription?: RuleRow['displayDescription'] | undefined
  /** Version that the operator edited. Default: the current one. */
  readonly version?: number | undefined
}

type RuleDependencies = Pick<Parts, 'db' | 'clock' | 'isConfirmedAsset'>

/** Reads and saves versions of rules. A version that applied in the past never changes. */
export class Rules {
  readonly #parts: RuleDependencies

  constructor(parts: RuleDependencies) {
    this.#parts = parts
  }

  /**
   * @param at milliseconds since the epoch
   * @throws BusinessError `404` `member-points.rule-unknown`
   */
  async at(code: string, at: number): Promise<EffectiveRule> {
    const rows = await this.#parts.db.fork().find(RuleRow, {
      code: { $in: [code, 'expiry'] },
      activeFrom: { $lte: at },
      activeTo: { $gt: at },
    })
    const rule = rows.find((row) => row.code === code)
    if (rule === undefined) throw businessError('rule-unknown', { params: { code }, data: { code } })
    const usual = rows.find((row) => row.code === 'expiry')?.config.expiresInDays
    const days = rule.config.expiresInDays === undefined ? usual : rule.config.expiresInDays
    const { version, type, asset, enabled, config } = rule
    return {
      code,
      version,
      type,
      asset,
      enabled,
      config,
      expiryOf: (moment) => (days == null ? noExpiryTime : moment + days * dayMs),
    }
  }

  async current(codes: readonly string[]): Promise<ReadonlyMap<string, RuleRow>> {
    const rows = await this.#parts.db.fork().find(RuleRow, { code: { $in: [...codes] }, activeTo: noExpiryTime })
    return new Map(rows.map((row) => [row.code, row]))
  }

  /** Current versions, or all versions of one rule. */
  list(filter: { readonly code?: string | undefined }, window: PageWindow): Promise<FoundPage<RuleRow>> {
    const { code } = filter
    return findPage(this.#parts.db.fork(), RuleRow, code === undefined ? { activeTo: noExpiryTime } : { code }, window)
  }

  /** @throws BusinessError `404` `member-points.rule-unknown` */
  async get(id: number): Promise<RuleRow> {
    const row = await this.#parts.db.fork().findOne(RuleRow, { id })
    if (row === null) throw businessError('rule-unknown', { params: { code: id }, data: { id } })
    return row
  }

  /** Returns the versions that exist. */
  versions(wanted: readonly Pick<RuleRow, 'code' | 'version'>[]): Promise<readonly RuleRow[]> {
    return wanted.length === 0 ? Promise.resolve([]) : this.#parts.db.fork().find(RuleRow, { $or: [...wanted] })
  }

  /** Returns the previous version of each row, by the id of the given row. */
  async before(rows: readonly RuleRow[]): Promise<ReadonlyMap<number, RuleRow>> {
    const expected = rows
      .filter(({ version }) => version > 1)
      .map(({ code, version }) => ({ code, version: version - 1 }))
    const earlier = new Map((await this.versions(expected)).map((row) => [`${row.code} ${row.version + 1}`, row]))
    return new Map(
      rows.flatMap((row) => {
        const last = earlier.get(`${row.code} ${row.version}`)
        return last === undefined ? [] : [[row.id, last] as const]
      }),
    )
  }

  /**
   * Ends the current version and starts the next one, or creates the rule.
   *
   * @param record writes the audit in the same transaction
   * @throws BusinessError `400` `member-points.rule-invalid` with field and rule, `400`
   *   `member-points.asset-unconfirmed`, `409` `member-points.rule-conflict`
   */
  async save(draft: RuleDraft, userId: number, record: AccessAudit): Promise<RuleRow> {
    const { db, isConfirmedAsset } = this.#parts
    const { code, type, asset = defaultAsset } = draft
    const owned = builtInTypes.get(code) ?? (type === 'task' || type === 'lottery' ? type : null)
    if (owned !== type) throw ruleInvalid('type', 'of-code')
    const problem = findSettingProblem(type, draft.config)
    if (problem !== undefined) throw ruleInvalid(problem.field, problem.rule)
    if (!isConfirmedAsset(asset))
      throw businessError('asset-unconfirmed', { params: { asset }, data: { asset, field: 'asset' } })
    try {
      return await db.transactional(async () => {
        const saved = await this.#begin({ ...draft, asset }, userId)
        await record({ subject: code, summary: { version: saved.version, enabled: saved.enabled } })
        return saved
      })
    } catch (error) {
      // Another caller has saved a version meanwhile.
      if (error instanceof UniqueConstraintViolationException) throw businessError('rule-conflict', { data: { code } })
      throw error
    }
  }

  async #begin(draft: RuleDraft & { readonly asset: string }, userId: number): Promise<RuleRow> {
    const { db, clock } = this.#parts
    const { code, type, asset, enabled, config, displayTitle, displayDescription } = draft
    const em = db.fork()
    const last = await em.findOne(RuleRow, { code, activeTo: noExpiryTime })
    if (draft.version !== undefined && draft.version !== (last?.version ?? 0)) {
      throw businessError('rule-conflict', { data: { code, currentVersion: last?.version ?? null } })
    }
    // A version applies for at least 1 ms, even if the clock goes back.
    const from = Math.max(clock.now(), (last?.activeFrom ?? 0) + 1)
    if (last !== null) {
      const ended = await db.execute('update points_rule set active_to = ? where id = ? and active_to = ?', [
        from,
        last.id,
        noExpiryTime,
      ])
      if (ended === 0) throw businessError('rule-conflict', { data: { code, currentVersion: last.version } })
    }
    const row = em.create(RuleRow, {
      id: db.newId(),
      code,
      version: (last?.version ?? 0) + 1,
      type,
      asset,
      enabled,
      config,
      displayTitle: displayTitle ?? null,
      displayDescription: displayDescription ?? null,
      activeFrom: from,
      activeTo: noExpiryTime,
      updatedBy: userId,
      createdAt: new Date(clock.now()),
    })
    await em.flush()
    return row
  }
}

const ruleInvalid = (field: string, rule: string) =>
  businessError('rule-invalid', { params: { field, rule }, data: { field, rule } })
