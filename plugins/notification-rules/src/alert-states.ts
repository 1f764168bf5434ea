import { hash } from 'node:crypto'
import { databaseTimeMsSql } from '@plinth/coordination'
import { type Database, exactInteger, insertMissingRows, type Parameter } from '@plinth/database'
import type { Clock, Logger } from '@plinth/kernel'
import type { AlertState, NotificationRule } from './contract.ts'
import { AlertStateRow } from './entities.ts'

interface CountedAlert {
  readonly stateKey: string
  /** Time of the database when the event was counted, in milliseconds since the epoch. */
  readonly nowMs: number
  readonly count: number
  readonly state: AlertState
  /** Id of the last message of the alert in the list of messages. */
  readonly lastMessageId: number | undefined
}

const table = 'notification_rule_state'
/** Expiry time of a new row. The row is thus expired, so that counting the event starts the alert. */
const expiredFromStart = 0
/**
 * Maximum number of separate alerts per rule. Without a limit, dedupe keys from outside, such as addresses of visitors,
 * could fill the table.
 */
const maxAlerts = 10_000
/** Number of rows that an instance may add before it counts the rows of the rule again. */
const maxUncounted = 1_000
/** Milliseconds before the alerts of a rule are counted again, if the rule has too many. */
const recountMs = 10_000
/** Dedupe key that all alerts beyond the limit share. Callers cannot use an empty key. */
const overflowKey = ''

/** Number of alerts that this instance may still add for a rule. */
interface Room {
  left: number
  readonly isFull: boolean
  /** Monotonic time in milliseconds of the next count, if `left` is 0. */
  readonly recountAt: number
}

/**
 * State of alerts by rule code and dedupe key. Every method joins the current transaction. `count` locks the row, so
 * that instances decide about an alert one after another. All times are those of the database clock.
 */
export class AlertStates {
  readonly #db: Database
  readonly #clock: Pick<Clock, 'now' | 'monotonic'>
  readonly #log: Pick<Logger, 'warn'>
  /** Remaining alerts by rule code. */
  readonly #rooms = new Map<string, Room>()

  constructor(db: Database, clock: Pick<Clock, 'now' | 'monotonic'>, log: Pick<Logger, 'warn'>) {
    this.#db = db
    this.#clock = clock
    this.#log = log
  }

  /**
   * Counts an event of an alert. If the rule has a counting window, the count starts with the first event in the
   * window. Otherwise it starts after the last message. All alerts of a rule beyond `maxAlerts` are counted together as
   * one alert.
   *
   * @param keptMs milliseconds until the alert expires without another event
   */
  async count(rule: NotificationRule, dedupeKey: string, by: number, keptMs: number): Promise<CountedAlert> {
    const { code, thresholdWindowMs } = rule
    const add = async (stateKey: string) =>
      (await this.#add(stateKey, thresholdWindowMs, by, keptMs)) ? this.#read(stateKey) : undefined
    const known = await add(keyOf(code, dedupeKey))
    if (known !== undefined) return known
    const keptAs = (await this.#takeRoom(code)) ? dedupeKey : overflowKey
    const stateKey = keyOf(code, keptAs)
    for (;;) {
      const ended = { counted: 0, windowStartedAtMs: expiredFromStart, expiresAtMs: expiredFromStart }
      const alert = { ...ended, id: this.#db.newId(), stateKey, code, dedupeKey: keptAs }
      await insertMissingRows(this.#db, AlertStateRow, 'stateKey', [alert])
      const counted = await add(stateKey)
      // Tries again if there is no row, because another instance may have purged the expired row.
      if (counted !== undefined) return counted
    }
  }

  /**
   * Reserves a row for a new alert. Returns false if the rule has too many alerts. Counts the rows of the table only
   * rarely.
   */
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
      `select count(*) as n from (select id from ${table} where code = ? limit ${maxAlerts}) as kept`,
      [code],
    )
    const free = maxAlerts - exactInteger(row?.n)
    const isFull = free === 0
    if (isFull && !wasFull) {
      const text = 'a notification rule has as many alerts as are kept apart; new ones count as one'
      this.#log.warn({ code, most: maxAlerts }, text)
    }
    const recountAt = this.#clock.monotonic() + (isFull ? recountMs : 0)
    const room = { left: Math.min(maxUncounted, free), isFull, recountAt }
    this.#rooms.set(code, room)
    return room
  }

  /** Adds to the count of an alert. Returns false if the alert has no row. */
  async #add(stateKey: string, thresholdWindowMs: number | undefined, by: number, keptMs: number): Promise<boolean> {
    const now = databaseTimeMsSql(this.#db, this.#clock)
    const isOver = `expires_at_ms <= ${now.sql}`
    const isPast = thresholdWindowMs === undefined ? '' : ` or window_started_at_ms + ? <= ${now.sql}`
    const past: readonly Parameter[] =
      thresholdWindowMs === undefined ? now.parameters : [...now.parameters, thresholdWindowMs, ...now.parameters]
    const kept = (column: string) => `${column} = case when ${isOver} then null else ${column} end`
    // MySQL evaluates assignments from left to right, so each column is assigned after the columns whose conditions
    // read it.
    const counted = await this.#db.execute(
      `update ${table} set
         counted = case when ${isOver}${isPast} then ? else counted + ? end,
         window_started_at_ms = case when ${isOver}${isPast} then ${now.sql} else window_started_at_ms end,
         ${kept('last_sent_at_ms')}, ${kept('unresolved_since_ms')}, ${kept('last_escalated_at_ms')}, ${kept('last_message_id')},
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
        ...now.parameters,
        keptMs,
        stateKey,
      ],
    )
    return counted > 0
  }

  async #read(stateKey: string): Promise<CountedAlert> {
    const now = databaseTimeMsSql(this.#db, this.#clock)
    const [row] = await this.#db.query<Row>(
      `select counted, last_sent_at_ms, unresolved_since_ms, last_escalated_at_ms, last_message_id, ${now.sql} as now_ms
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
      lastMessageId: moment(row?.last_message_id),
    }
  }

  /**
   * Stores the message, unless a digest collects it, and the times of an alert. @param recount true if the next count starts after this message
   */
  async remember(
    stateKey: string,
    messageId: number | null,
    { lastSentAt, unresolvedSince, lastEscalatedAt }: AlertState,
    recount: boolean,
  ) {
    await this.#db.execute(
      `update ${table} set last_message_id = ?, last_sent_at_ms = ?, unresolved_since_ms = ?,
         last_escalated_at_ms = ?${recount ? ', counted = 0' : ''}
       where state_key = ?`,
      [messageId, lastSentAt ?? null, unresolvedSince ?? null, lastEscalatedAt ?? null, stateKey],
    )
  }
}

/**
 * Returns the key of an alert. A code contains no line break, so the text is unique for each pair of code and dedupe
 * key.
 */
const keyOf = (code: string, dedupeKey: string) => hash('sha256', `${code}\n${dedupeKey}`)

interface Row {
  readonly counted: unknown
  readonly last_sent_at_ms: unknown
  readonly unresolved_since_ms: unknown
  readonly last_escalated_at_ms: unknown
  readonly last_message_id: unknown
  readonly now_ms: unknown
}

const moment = (value: unknown) => (value == null ? undefined : exactInteger(value))
