import type { Database } from '@plinth/database'
import type { Sizes } from './sizes.ts'

const dayMs = 86_400_000
/** Rows of one statement: far from the deadline of one, on a busy machine too. */
const together = 50_000
/** Of each table the oldest quarter is past every retention. */
const pastRetention = 4
const pastMs = 4_000 * dayMs
/** The others are this young at most, within every retention. */
const youngMs = 5 * dayMs
const roles = 10
const preferenceSwitches = [
  ...['database', 'websocket', 'email', 'sms', 'system', 'account'],
  ...['todo', 'chat', 'blog', 'forum', 'mall', 'marketing'],
]
/** Failed events at the head of a key; a tenth of all events waits behind them. */
const headsOf = ({ events }: Sizes) => Math.ceil(events / 500)

/** What is written differently on the two databases. `i` is the number of the row. */
interface Words {
  series(from: number, to: number): string
  /** The moment of so many milliseconds since 1970. */
  moment(ms: string): string
  day(ms: string): string
  readonly analyze: string | undefined
}

const words: Readonly<Record<'sqlite' | 'postgresql', Words>> = {
  sqlite: {
    series: (from, to) =>
      `(with recursive s(i) as (select ${from} union all select i + 1 from s where i < ${to}) select i from s) s`,
    moment: (ms) => `(${ms})`,
    day: (ms) => `strftime('%Y-%m-%d', (${ms}) / 1000, 'unixepoch')`,
    // A product never lets SQLite count its rows.
    analyze: undefined,
  },
  postgresql: {
    series: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) as s(i)`,
    moment: (ms) => `to_timestamp((${ms}) / 1000.0)`,
    day: (ms) => `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD')`,
    analyze: 'vacuum analyze',
  },
}

type Row = Readonly<Record<string, string>>

/** One table: an SQL expression for each column. */
interface Filling {
  readonly table: string
  readonly rows: number
  row(word: Words, rows: number): Row
}

/** Fills every table that grows by statements that write whole sets, and lets the database count what lies there. */
export async function fillTables(db: Database, sizes: Sizes): Promise<void> {
  const word = words[db.dialect === 'sqlite' ? 'sqlite' : 'postgresql']
  for (const { table, rows, row } of fillings(sizes, Date.now())) {
    const columns = Object.entries(row(word, rows))
    const names = columns.map(([name]) => name).join(', ')
    const values = columns.map(([, value]) => value).join(', ')
    for (let from = 1; from <= rows; from += together) {
      const series = word.series(from, Math.min(rows, from + together - 1))
      await db.execute(`insert into ${table} (${names}) select ${values} from ${series}`, [])
    }
  }
  await db.execute(
    `insert into iam_role_permission (id, role_id, permission_code)
     select r.id * 1000 + row_number() over (partition by r.id order by p.code), r.id, p.code
     from iam_role r cross join iam_permission p where r.id <= ${roles}`,
    [],
  )
  if (word.analyze !== undefined) await db.execute(word.analyze, [])
}

function fillings(sizes: Sizes, now: number): readonly Filling[] {
  /** Milliseconds since 1970: row 1 is the oldest. */
  const time = (rows: number) =>
    `(${now} - (${rows} - i) * ${Math.ceil(youngMs / rows)} - (case when i <= ${rows / pastRetention} then ${pastMs} else 0 end))`
  const { sendLog, audits, events, users, tasks, calls, configChanges, alerts } = sizes
  const heads = headsOf(sizes)
  const inboxOwner = `case when i % 10 = 0 then (select id from iam_user where username = 'root') else 1 + i % ${users} end`
  const isHead = `(i % 10 = 9 and i / 10 < ${heads})`
  const everyMoment = (rows: number, word: Words) => word.moment(time(rows))
  return [
    {
      table: 'iam_role',
      rows: roles,
      row: (word) => ({
        id: 'i',
        code: `'filled-' || i`,
        name: `'Filled ' || i`,
        data_scope: `'self'`,
        built_in: 'false',
        version: '1',
        created_at: word.moment(String(now)),
        updated_at: word.moment(String(now)),
      }),
    },
    {
      table: 'iam_user',
      rows: users,
      row: (word, rows) => ({
        id: 'i',
        username: `'filled-' || i`,
        username_key: `'filled-' || i`,
        email: `'filled-' || i || '@example.org'`,
        email_key: `'filled-' || i || '@example.org'`,
        email_folded: `'filled-' || i || '@example.org'`,
        enabled: 'i % 10 <> 0',
        version: '1',
        created_at: everyMoment(rows, word),
        updated_at: everyMoment(rows, word),
        last_login_at: everyMoment(rows, word),
      }),
    },
    { table: 'iam_user_role', rows: users, row: () => ({ id: 'i', user_id: 'i', role_id: '1' }) },
    {
      table: 'iam_user_role',
      rows: users,
      row: (_, rows) => ({ id: `${rows} + i`, user_id: 'i', role_id: `2 + i % ${roles - 1}` }),
    },
    {
      table: 'iam_token',
      rows: users,
      row: (word, rows) => ({
        id: 'i',
        user_id: 'i',
        token_hash: `'filled-' || i`,
        method: `'password'`,
        client_ip: `'10.0.0.1'`,
        user_agent: `'bench'`,
        created_at: everyMoment(rows, word),
        expires_at: word.moment(`${time(rows)} + ${youngMs * 2}`),
        last_seen_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'iam_login_audit',
      rows: audits,
      row: (word, rows) => ({
        id: 'i',
        occurred_at: everyMoment(rows, word),
        method: `'password'`,
        identifier: `'filled-' || (1 + i % ${users})`,
        user_id: `1 + i % ${users}`,
        success: 'i % 10 <> 0',
        client_ip: `'10.0.' || (i % 200) || '.' || (i % 250)`,
        user_agent: `'bench'`,
        trace_id: `'trace-' || i`,
        attempts: '1',
      }),
    },
    {
      table: 'iam_audit',
      rows: audits,
      row: (word, rows) => ({
        id: 'i',
        occurred_at: everyMoment(rows, word),
        actor: `'user:' || (1 + i % 50)`,
        actor_user_id: '1 + i % 50',
        action: `'filled.' || (i % 20)`,
        target_type: `'kind-' || (i % 5)`,
        target_id: 'i',
        target_name: `'target-' || i`,
        summary: `'{"changed":["name"]}'`,
        client_ip: `'10.0.0.1'`,
        trace_id: `'trace-' || i`,
      }),
    },
    {
      table: 'notification_send_log',
      rows: sendLog,
      row: (word, rows) => ({
        id: 'i',
        channel: `case i % 3 when 0 then 'email' when 1 then 'sms' else 'webhook' end`,
        provider: `'filled'`,
        status: `case when i % 100 = 2 then 'unknown' when i % 10 = 0 then 'failed' when i % 10 = 1 then 'retried' else 'success' end`,
        outcome: `case when i % 100 = 2 then 'unknown' when i % 10 < 2 then 'rejected' else 'accepted' end`,
        delivery_key: `case when i % 3 = 2 then 'delivery-' || i end`,
        notification_id: `case when i % 3 = 2 then i / 100 end`,
        message_id: `'message-' || i`,
        recipients: `'["mobile:***0001"]'`,
        recipient_count: '1',
        subject: `'Your order ' || i`,
        template: `'order'`,
        restorable: 'i % 20 = 0',
        payload: `'{"orderId":' || i || ',"text":"Your order has left our house and is on its way to you."}'`,
        attempt: '1',
        trace_id: `'trace-' || i`,
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'notification_message',
      rows: sendLog,
      row: (word, rows) => ({
        id: 'i',
        message_id: `'message-' || i`,
        idempotency_hash: `case when i % 2 = 0 then 'hash-' || i end`,
        subject: `'Your order ' || i`,
        channels: `'["database","email"]'`,
        recipient_count: '1',
        priority: `'normal'`,
        state: `case when i % 100 = 0 then 'queued' else 'finished' end`,
        payload: `'{"message":{"content":"Your order has left our house."}}'`,
        parts: '2',
        parts_done: '2',
        accepted: '2',
        rejected: '0',
        deferred: '0',
        unknown: '0',
        skipped: '0',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'notification_inbox_content',
      rows: Math.ceil(sendLog / 10),
      row: (word, rows) => ({
        id: 'i',
        message_id: `'message-' || i`,
        subject: `'Your order ' || i`,
        content: `'Your order has left our house and is on its way to you.'`,
        variables: `'{}'`,
        jump: `'{"module":"mall","targetRoute":"/mall/orders/7"}'`,
        attachments: '1',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'notification_inbox_attachment',
      rows: Math.ceil(sendLog / 10),
      row: () => ({
        id: 'i',
        content_id: 'i',
        message_id: `'message-' || i`,
        disk: `'public'`,
        path: `'orders/' || i || '.pdf'`,
        name: `'order.pdf'`,
        content_type: `'application/pdf'`,
        size: '1024',
      }),
    },
    {
      // Ten recipients each, one of them the administrator, who has read three of four. Ids tell the age.
      table: 'notification_inbox_item',
      rows: sendLog,
      row: (word, rows) => ({
        id: `case when i <= ${rows / pastRetention} then i else (${time(rows)} - ${Date.UTC(2025, 0, 1)}) * 4096 + i % 4096 end`,
        content_id: '1 + (i - 1) / 10',
        user_id: inboxOwner,
        owner_id: inboxOwner,
        module: `case when i / 10 % 3 = 0 then 'mall' else 'forum' end`,
        unread: 'i / 10 % 4 = 0',
        read_at: `case when i / 10 % 4 <> 0 then ${everyMoment(rows, word)} end`,
      }),
    },
    {
      table: 'notification_preference',
      rows: users,
      row: (word) => ({
        user_id: 'i',
        ...Object.fromEntries(preferenceSwitches.map((name) => [`${name}_enabled`, 'i % 10 <> 0'])),
        updated_at: word.moment(String(now)),
      }),
    },
    {
      // Of ten: six delivered, one that waits for its next attempt and one for its time, one behind a failed head, one failed.
      table: 'outbox_event',
      rows: events,
      row: (word, rows) => ({
        id: 'i',
        type: `'filled.' || (i % 20)`,
        payload: `'{"orderId":' || i || ',"amount":"12.50"}'`,
        stream_key: `case when i % 10 = 8 then 'blocked-' || (i / 10 % ${heads}) when ${isHead} then 'blocked-' || (i / 10) end`,
        position: `case when i % 10 = 8 then 1 + i / 10 when ${isHead} then 0 end`,
        status: `case when i % 10 < 6 then 'delivered' when i % 10 = 9 then 'failed' when i % 10 = 7 then 'scheduled' else 'pending' end`,
        attempts: `case when i % 10 = 9 then 10 when i % 10 in (6, 7) then 3 else 1 end`,
        next_at: `case when i % 10 = 8 then ${word.moment(String(Date.UTC(9999, 0, 1)))}
          when i % 10 in (6, 7) then ${word.moment(`${now} + ${dayMs} + i`)} else ${everyMoment(rows, word)} end`,
        last_error: `case when i % 10 in (6, 7, 9) then 'The warehouse did not answer' end`,
        created_at: everyMoment(rows, word),
        finished_at: `case when i % 10 < 6 or i % 10 = 9 then ${everyMoment(rows, word)} end`,
      }),
    },
    {
      table: 'outbox_stream',
      rows: heads,
      row: (word) => ({
        stream_key: `'blocked-' || (i - 1)`,
        last_position: String(events),
        updated_at: word.moment(String(now)),
      }),
    },
    {
      table: 'async_task',
      rows: tasks,
      row: (word, rows) => ({
        id: 'i',
        type: `'filled.' || (i % 5)`,
        owner_id: `1 + i % ${users}`,
        locale: `'en'`,
        params: `'{}'`,
        status: `case i % 10 when 0 then 'failed' when 1 then 'cancelled' else 'succeeded' end`,
        cancel_requested: 'false',
        progress: '100',
        attempts: '1',
        fence: '1',
        beat: '1',
        turn: '0',
        created_at: everyMoment(rows, word),
        started_at: everyMoment(rows, word),
        finished_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'open_call',
      rows: calls,
      row: (word, rows) => ({
        id: 'i',
        call_key: `'filled-' || i`,
        app_id: '1 + i % 100',
        app_key: `'app-' || (1 + i % 100)`,
        method: `'GET'`,
        route: `'/api/v1/open/orders'`,
        day: word.day(time(rows)),
        cost: '1',
        quota_limit: '0',
        code: `'200'`,
        duration_ms: '5',
        occurred_at: everyMoment(rows, word),
        trace_id: `'trace-' || i`,
      }),
    },
    {
      // A hundred applications with ten routes: a thousand lines a day, the newest today.
      table: 'open_call_day',
      rows: calls,
      row: (word, rows) => ({
        id: 'i',
        day: word.day(`${now} - (${rows} - i) / 1000 * ${dayMs}`),
        app_id: '1 + i % 100',
        app_key: `'app-' || (1 + i % 100)`,
        method: `'GET'`,
        route: `'/api/v1/open/route-' || (i / 100 % 10)`,
        calls: '100',
        failed: '1',
        cost: '100',
      }),
    },
    {
      // As many as a product keeps.
      table: 'notification_rule',
      rows: Math.min(alerts, 2_000),
      row: (word, rows) => ({
        id: 'i',
        code: `'filled.rule-' || i`,
        enabled: 'i % 10 <> 0',
        threshold_count: '1',
        channels: `'["database"]'`,
        recipient_user_ids: `'[1]'`,
        escalation_enabled: 'false',
        escalation_channels: `'[]'`,
        escalation_recipient_user_ids: `'[]'`,
        version: '1',
        created_at: everyMoment(rows, word),
        updated_at: everyMoment(rows, word),
      }),
    },
    {
      // The oldest quarter is over.
      table: 'notification_rule_state',
      rows: alerts,
      row: (_, rows) => ({
        id: 'i',
        state_key: `'filled-' || i`,
        code: `'filled.rule-' || (1 + i % 2000)`,
        dedupe_key: `'filled-' || i`,
        counted: '1',
        window_started_at_ms: time(rows),
        last_sent_at_ms: time(rows),
        unresolved_since_ms: time(rows),
        expires_at_ms: `${time(rows)} + ${youngMs * 2}`,
      }),
    },
    {
      table: 'sys_config_history',
      rows: configChanges,
      row: (word, rows) => ({
        config_key: `case i % 4 when 0 then 'platform.log.level' else 'platform.iam.token.idle-timeout' end`,
        version: 'i',
        sensitive: 'false',
        origin: `'admin'`,
        actor: `'user:' || (1 + i % 50)`,
        actor_user_id: '1 + i % 50',
        changed_at: everyMoment(rows, word),
      }),
    },
  ]
}
