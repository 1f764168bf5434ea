import { hash } from 'node:crypto'
import { databaseMs } from '@plinth/coordination'
import { type Database, exactInteger, insertMissing, type Parameter } from '@plinth/database'
import type { Clock } from '@plinth/kernel'
import type { AlertState, NotificationRule } from './contract.ts'

/** An alert after one more event of it was counted. */
export interface CountedAlert {
  readonly stateKey: string
  /** Time of the database, milliseconds since the epoch. */
  readonly nowMs: number
  readonly count: number
  readonly state: AlertState
}

const table = 'notification_rule_state'
const columns = ['id', 'state_key', 'code', 'dedupe_key', 'counted', 'window_started_at_ms', 'expires_at_ms']
/** Of an alert that nobody has seen: the next count begins it. */
const over = 0

/**
 * What is known of alerts, by code and dedupe key. All in the transaction around it: counting locks the row until that ends,
 * so of several instances with the same alert one decides after the other. Moments are of the database.
 */
export class AlertStates {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now'>

  constructor(db: Database, clock: Pick<Clock, 'now'>) {
    this.#db = db
    this.#clock = clock
  }

  /**
   * Counts an event. With a counting window its events count from the first one on, for so long; without one those since the last
   * message do.
   *
   * @param keptMs how long the alert stays without another event
   */
  async count(rule: NotificationRule, dedupeKey: string, by: number, keptMs: number): Promise<CountedAlert> {
    const { code, thresholdWindowMs } = rule
    // In this form no two pairs make the same text: a code has no line break.
    const stateKey = hash('sha256', `${code}\n${dedupeKey}`)
    const target = { table, columns, unique: 'state_key' }
    const begin = () => insertMissing(this.#db, target, [[this.#db.newId(), stateKey, code, dedupeKey, 0, over, over]])
    await begin()
    // One that is over may be purged in between.
    while (!(await this.#add(stateKey, thresholdWindowMs, by, keptMs))) await begin()
    return this.#read(stateKey)
  }

  /** False when there is no such alert. */
  async #add(stateKey: string, thresholdWindowMs: number | undefined, by: number, keptMs: number): Promise<boolean> {
    const now = databaseMs(this.#db, this.#clock)
    const isOver = `expires_at_ms <= ${now.sql}`
    const isPast = thresholdWindowMs === undefined ? '' : ` or window_started_at_ms + ? <= ${now.sql}`
    const past: readonly Parameter[] =
      thresholdWindowMs === undefined ? now.parameters : [...now.parameters, thresholdWindowMs, ...now.parameters]
    const kept = (column: string) => `${column} = case when ${isOver} then null else ${column} end`
    // MySQL takes what was assigned before: each column comes after those that are judged by it.
    const counted = await this.#db.execute(
      `update ${table} set
         counted = case when ${isOver}${isPast} then ? else counted + ? end,
         window_started_at_ms = case when ${isOver}${isPast} then ${now.sql} else window_started_at_ms end,
         ${kept('last_sent_at_ms')}, ${kept('unresolved_since_ms')}, ${kept('last_escalated_at_ms')},
         expires_at_ms = ${now.sql} + ?
       where state_key = ?`,
      [
        ...[...past, by, by],
        ...[...past, ...now.parameters],
        ...[...now.parameters, ...now.parameters, ...now.parameters],
        ...[...now.parameters, keptMs, stateKey],
      ],
    )
    return counted > 0
  }

  async #read(stateKey: string): Promise<CountedAlert> {
    const now = databaseMs(this.#db, this.#clock)
    const [row] = await this.#db.query<Row>(
      `select counted, last_sent_at_ms, unresolved_since_ms, last_escalated_at_ms, ${now.sql} as now_ms
       from ${table} where state_key = ?`,
      [...now.parameters, stateKey],
    )
    return {
      stateKey,
      nowMs: exactInteger(row?.now_ms),
      count: exactInteger(row?.counted),
      state: {
        lastSentAt: moment(row?.last_sent_at_ms),
        unresolvedSince: moment(row?.unresolved_since_ms),
        lastEscalatedAt: moment(row?.last_escalated_at_ms),
      },
    }
  }

  /** @param recount true where events count from the last message on */
  async remember(stateKey: string, { lastSentAt, unresolvedSince, lastEscalatedAt }: AlertState, recount: boolean) {
    await this.#db.execute(
      `update ${table} set last_sent_at_ms = ?, unresolved_since_ms = ?, last_escalated_at_ms = ?${recount ? ', counted = 0' : ''}
       where state_key = ?`,
      [lastSentAt ?? null, unresolvedSince ?? null, lastEscalatedAt ?? null, stateKey],
    )
  }
}

interface Row {
  readonly counted: unknown
  readonly last_sent_at_ms: unknown
  readonly unresolved_since_ms: unknown
  readonly last_escalated_at_ms: unknown
  readonly now_ms: unknown
}

const moment = (value: unknown) => (value == null ? undefined : exactInteger(value))
