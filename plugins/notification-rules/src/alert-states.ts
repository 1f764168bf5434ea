import { hash } from 'node:crypto'
import { databaseMs } from '@plinth/coordination'
import { type Database, exactInteger, insertMissing, type Parameter } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { AlertState, NotificationRule } from './contract.ts'
import { StoredAlert } from './entities.ts'

/** An alert after one more event of it was counted. */
interface CountedAlert {
  readonly stateKey: string
  /** Time of the database, milliseconds since the epoch. */
  readonly nowMs: number
  readonly count: number
  readonly state: AlertState
}

const table = 'notification_rule_state'
/** Of an alert that nobody has seen: the next count begins it. */
const over = 0
/**
 * Alerts of one rule that are kept apart, those included that are over and not removed yet. Whoever chooses dedupe keys, such as
 * addresses of visitors, would fill the table in a quiet period otherwise.
 */
const mostAlerts = 10_000
/** Rows that a process writes before it counts again. */
const mostUncounted = 1_000
/** Milliseconds after which a process that found no room looks again. */
const recountMs = 10_000
/** Dedupe key of what is counted together: no caller's is empty. */
const others = ''

/** How many more alerts of a rule may be kept, as a process knows. */
interface Room {
  left: number
  /** None was free when it was counted. */
  readonly isFull: boolean
  /** Monotonic milliseconds from which it may be counted again once none is left. */
  readonly recountAt: number
}

/**
 * What is known of alerts, by code and dedupe key. All in the transaction around it: counting locks the row until that ends,
 * so of several instances with the same alert one decides after the other. Moments are of the database.
 */
export class AlertStates {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #log: Pick<Logger, 'warn'>
  /** By code: there are as many as rules at most. */
  readonly #rooms = new Map<string, Room>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>, log: Pick<Logger, 'warn'>) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /**
   * Counts an event. With a counting window its events count from the first one on, for so long; without one those since the last
   * message do. Beyond 10,000 alerts of a rule those that are new count as one.
   *
   * @param keptMs how long the alert stays without another event
   */
  async count(rule: NotificationRule, dedupeKey: string, by: number, keptMs: number): Promise<CountedAlert> {
    const { code, thresholdWindowMs } = rule
    const add = async (stateKey: string) =>
      (await this.#add(stateKey, thresholdWindowMs, by, keptMs)) ? this.#read(stateKey) : undefined
    const known = await add(keyOf(code, dedupeKey))
    if (known !== undefined) return known
    const keptAs = (await this.#takeRoom(code)) ? dedupeKey : others
    const stateKey = keyOf(code, keptAs)
    for (;;) {
      const ended = { counted: 0, windowStartedAtMs: over, expiresAtMs: over }
      const alert = { ...ended, id: this.#db.newId(), stateKey, code, dedupeKey: keptAs }
      await insertMissing(this.#db, StoredAlert, 'stateKey', [alert])
      const counted = await add(stateKey)
      // One that is over may be purged in between.
      if (counted !== undefined) return counted
    }
  }

  /** Counts at most `mostAlerts` entries of an index, once for many alerts that are new. */
  async #takeRoom(code: string): Promise<boolean> {
    const known = this.#rooms.get(code)
    const isStale = known === undefined || (known.left === 0 && this.#clock.monotonic() >= known.recountAt)
    const room = isStale ? await this.#count(code, known?.isFull === true) : known
    if (room.left === 0) return false
    room.left -= 1
    return true
  }

  async #count(code: string, wasFull: boolean): Promise<Room> {
    const [row] = await this.#db.query<{ n: unknown }>(
      `select count(*) as n from (select id from ${table} where code = ? limit ${mostAlerts}) as kept`,
      [code],
    )
    const free = mostAlerts - exactInteger(row?.n)
    const isFull = free === 0
    if (isFull && !wasFull) {
      const text = 'a notification rule has as many alerts as are kept apart; new ones count as one'
      this.#log.warn({ code, most: mostAlerts }, text)
    }
    const recountAt = this.#clock.monotonic() + (isFull ? recountMs : 0)
    const room = { left: Math.min(mostUncounted, free), isFull, recountAt }
    this.#rooms.set(code, room)
    return room
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
        ...past,
        by,
        by,
        ...past,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        ...now.parameters,
        keptMs,
        stateKey,
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

/** In this form no two pairs make the same text: a code has no line break. */
const keyOf = (code: string, dedupeKey: string) => hash('sha256', `${code}\n${dedupeKey}`)

interface Row {
  readonly counted: unknown
  readonly last_sent_at_ms: unknown
  readonly unresolved_since_ms: unknown
  readonly last_escalated_at_ms: unknown
  readonly now_ms: unknown
}

const moment = (value: unknown) => (value == null ? undefined : exactInteger(value))
