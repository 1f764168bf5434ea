import type { Database } from '@plinth/database'
import type { Sizes } from './sizes.ts'

const dayMs = 86_400_000
/** Number of rows per statement. Such a statement stays far below its deadline, even on a busy host. */
const rowsPerStatement = 50_000
/** The oldest quarter of each table is older than every retention time. */
const pastRetention = 4
const pastMs = 4_000 * dayMs
/** Maximum age in milliseconds of the remaining three quarters. It is shorter than every retention time. */
const youngMs = 5 * dayMs
const roles = 10
const preferenceSwitches = [
  'database',
  'websocket',
  'email',
  'sms',
  'system',
  'account',
  'todo',
  'chat',
  'blog',
  'forum',
  'mall',
  'marketing',
]
/** Number of reviews that may be retried. One call of the retry processes this number of reviews. */
const openReviews = 500
/** Number of failed events that block the later events of their key. A tenth of all events waits behind them. */
const blockingEventsOf = ({ events }: Sizes) => Math.ceil(events / 500)

/** Parts of SQL that differ between the two databases. `i` is the number of the row. */
interface Words {
  series(from: number, to: number): string
  /** Returns the SQL of a timestamp, given milliseconds since 1970. */
  moment(ms: string): string
  day(ms: string): string
  /** Returns the SQL of a constant for a JSON column. */
  json(text: string): string
  readonly analyze: string | undefined
}

const words: Readonly<Record<'sqlite' | 'postgresql', Words>> = {
  sqlite: {
    series: (from, to) =>
      `(with recursive s(i) as (select ${from} union all select i + 1 from s where i < ${to}) select i from s) s`,
    moment: (ms) => `(${ms})`,
    json: (text) => `'${text}'`,
    day: (ms) => `strftime('%Y-%m-%d', (${ms}) / 1000, 'unixepoch')`,
    // A product never runs `analyze` on SQLite, so the benchmark does not either.
    analyze: undefined,
  },
  postgresql: {
    series: (from, to) => `generate_series(${from}::bigint, ${to}::bigint) as s(i)`,
    moment: (ms) => `to_timestamp((${ms}) / 1000.0)`,
    json: (text) => `'${text}'::jsonb`,
    day: (ms) => `to_char(to_timestamp((${ms}) / 1000.0) at time zone 'UTC', 'YYYY-MM-DD')`,
    analyze: 'vacuum analyze',
  },
}

/** The plan that a payment review stores, as JSON. */
const reviewedPlan = JSON.stringify({
  outTradeNo: 'filled',
  state: 'ready',
  reasons: [],
  causes: [],
  chainName: 'sepolia',
  chainId: 11155111,
  transactionHash: '0x1111111111111111111111111111111111111111111111111111111111111111',
  transfer: {
    blockNumber: 1,
    blockHash: '0x2222222222222222222222222222222222222222222222222222222222222222',
    logIndex: 0,
    logOrdinal: 0,
    from: '0x3333333333333333333333333333333333333333',
    to: '0x4444444444444444444444444444444444444444',
    token: '0x5555555555555555555555555555555555555555',
    value: '1000',
  },
  confirmations: 12,
  requiredConfirmations: 12,
  eventKey: 'sepolia:0x:0',
  fingerprint: 'ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff',
  fingerprintVersion: 1,
  providerId: 'node',
  head: 12,
})

type Row = Readonly<Record<string, string>>

/** A table to fill, with an SQL expression for each column. */
interface Filling {
  readonly table: string
  readonly rows: number
  row(word: Words, rows: number): Row
}

/** Fills every growing table with a few large statements, then updates the statistics of the database. */
export async function fillTables(db: Database, sizes: Sizes): Promise<void> {
  const word = words[db.dialect === 'sqlite' ? 'sqlite' : 'postgresql']
  for (const { table, rows, row } of fillings(sizes, Date.now())) {
    const columns = Object.entries(row(word, rows))
    const names = columns.map(([name]) => name).join(', ')
    const values = columns.map(([, value]) => value).join(', ')
    for (let from = 1; from <= rows; from += rowsPerStatement) {
      const series = word.series(from, Math.min(rows, from + rowsPerStatement - 1))
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
  /** Returns the SQL of a time in milliseconds since 1970. Row 1 is the oldest. */
  const time = (rows: number) =>
    `(${now} - (${rows} - i) * ${Math.ceil(youngMs / rows)} - (case when i <= ${rows / pastRetention} then ${pastMs} else 0 end))`
  const { sendLog, inbox, audits, events, users, tasks, calls, configChanges, orders, points, alerts } = sizes
  const blockingEvents = blockingEventsOf(sizes)
  const inboxOwner = `case when i % 10 = 0 then (select id from iam_user where username = 'root') else 1 + i % ${users} end`
  const pointsAccount = accountOf('i', users)
  const isHead = `(i % 10 = 9 and i / 10 < ${blockingEvents})`
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
      table: 'iam_api_token',
      rows: users,
      row: (word, rows) => ({
        id: 'i',
        user_id: 'i',
        name: `'script'`,
        token_hash: `'filled-' || i`,
        first_characters: `'abcd'`,
        permissions: word.json('[]'),
        data_scope: `'self'`,
        created_at: everyMoment(rows, word),
        expires_at: everyMoment(rows, word),
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
        notification_id: `case when i % 3 = 2 then 1 + i / 100 end`,
        message_id: `'message-' || i`,
        recipients: `'["mobile:***0001"]'`,
        recipient_count: '1',
        subject: `'Your order ' || i`,
        template: `'order'`,
        restorable: 'i % 20 in (0, 1)',
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
      rows: Math.ceil(inbox / 10),
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
      rows: Math.ceil(inbox / 10),
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
      // Each message has ten recipients. One of them is the administrator, who has read three of four messages. Ids
      // increase with the time.
      table: 'notification_inbox_item',
      rows: inbox,
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
      // Of ten events, six are delivered, one waits for the next attempt, one is not due yet, one waits behind a failed
      // event, and one is failed.
      table: 'outbox_event',
      rows: events,
      row: (word, rows) => ({
        id: 'i',
        type: `'filled.' || (i % 20)`,
        payload: `'{"orderId":' || i || ',"amount":"12.50"}'`,
        stream_key: `case when i % 10 = 8 then 'blocked-' || (i / 10 % ${blockingEvents}) when ${isHead} then 'blocked-' || (i / 10) end`,
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
      rows: blockingEvents,
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
      table: 'money_payment_order',
      rows: orders,
      row: (_, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        fingerprint: `'filled-' || i`,
        provider: `case when i % 4 = 0 then 'web3' else 'bank' end`,
        scene: `'recharge'`,
        user_id: `1 + i % ${users}`,
        asset: `'wallet:cny'`,
        amount: '1000',
        status: `case when i % 50 = 0 then 'closed' when i % 50 < 5 then 'pending' else 'success' end`,
        refunded_amount: '0',
        version: '2',
        created_at: time(rows),
        paid_at: time(rows),
      }),
    },
    {
      table: 'money_payment_transaction',
      rows: orders,
      row: (_, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        type: `case when i % 10 = 0 then 'refund' else 'web3-settlement' end`,
        transaction_hash: `'0x' || i`,
        amount: '1000',
        event_key: `'sepolia:' || i`,
        chain_name: `'sepolia'`,
        log_ordinal: '0',
        created_at: time(rows),
      }),
    },
    {
      table: 'approval_instance',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        workflow: `'filled.' || (i % 3)`,
        action: `'settle'`,
        source_type: `'kind-' || (i % 3)`,
        source_id: `'' || (i % 1000)`,
        source_state: `'open'`,
        permission_snapshot: word.json('[]'),
        actor_user_id: '7',
        result: `case when i % 10 = 0 then 'refused' else 'approved' end`,
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'web3_settlement_review_log',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        chain_name: `'sepolia'`,
        transaction_hash: `'0x' || i`,
        action: `case when i % 10 = 0 then 'auto-approve' else 'settle' end`,
        status: `case when i % ${rows / openReviews} = 0 then 'open' else 'settled' end`,
        state: `'ready'`,
        candidate: 'true',
        retryable: `i % ${rows / openReviews} = 0`,
        reasons: word.json('[]'),
        plan_snapshot: word.json(reviewedPlan),
        review_fingerprint: `'filled-' || i`,
        fingerprint_version: '1',
        permission_snapshot: word.json('[]'),
        version: '1',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'web3_payment_callback_log',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        review_log_id: 'i',
        started_by: `'settle'`,
        outcome: `'settled'`,
        reasons: word.json('[]'),
        review_fingerprint: `'filled-' || i`,
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'web3_settlement_retry',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        review_fingerprint: `'filled-' || i`,
        attempts: '1',
        updated_at: everyMoment(rows, word),
      }),
    },
    {
      // Of a hundred audit logs, ninety have no risk. Half of the remaining ten are handled.
      table: 'web3_settlement_audit_log',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        out_trade_no: `'filled-' || i`,
        chain_name: `'sepolia'`,
        risk_reasons: `case when i % 100 < 90 then ${word.json('[]')} when i % 4 < 2 then ${word.json('["transfer-removed"]')} else ${word.json('["rpc-query-failed"]')} end`,
        risk_level: `case when i % 100 < 90 then 'none' when i % 4 < 2 then 'high' else 'low' end`,
        risky: 'i % 100 >= 90',
        suggested_action: `case when i % 100 < 90 then 'mark-resolved' when i % 4 < 2 then 'manual-compensation' else 'recheck-later' end`,
        retryable: `case when i % 100 < 90 then null else i % 4 >= 2 end`,
        needs_fund_review: `case when i % 100 < 90 then null else i % 4 < 2 end`,
        chain_reorg_suspected: 'i % 100 >= 90 and i % 4 < 2',
        confirmation_snapshot: word.json(reviewedPlan),
        handling_status: `case when i % 2 = 0 then 'open' else 'resolved' end`,
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'mall_order',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        order_no: `'filled-' || i`,
        user_id: `1 + i % ${users}`,
        status: `case when i % 20 = 0 then 'cancelled' when i % 20 < 3 then 'shipped' else 'paid' end`,
        currency: `'CNY'`,
        goods_amount: '1000',
        coupon_amount: '0',
        cash_amount: '1000',
        refunded_amount: '0',
        refund_open: '0',
        created_at: everyMoment(rows, word),
        paid_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'mall_refund',
      rows: orders,
      row: (word, rows) => ({
        id: 'i',
        refund_no: `'filled-' || i`,
        order_id: 'i',
        order_no: `'filled-' || i`,
        user_id: `1 + i % ${users}`,
        amount: '10',
        reason: `'filled'`,
        status: `case when i % 100 = 0 then 'rejected' when i % 100 < 10 then 'pending' else 'refunded' end`,
        created_at: everyMoment(rows, word),
      }),
    },
    {
      // Of a hundred sources of an account, two have points left, and none has expired.
      table: 'points_source',
      rows: points,
      row: (_, rows) => ({
        id: 'i',
        account_id: pointsAccount,
        user_id: `1 + i % ${users}`,
        asset: `'points:mall'`,
        source_type: `'order'`,
        source_id: `'filled-' || i`,
        granted: '5',
        remaining: `case when i / 10 % 50 = 0 and i > ${rows} - 1000 then 5 else 0 end`,
        held: '0',
        consumed: `case when i / 10 % 50 = 0 and i > ${rows} - 1000 then 0 else 5 end`,
        reversed: '0',
        expired: '0',
        expires_at: `${now} + ${10 * dayMs} + i`,
        status: `case when i / 10 % 50 = 0 and i > ${rows} - 1000 then 'active' else 'exhausted' end`,
        journal_id: 'i',
        rule_code: `'order-reward'`,
        rule_version: '1',
        created_at: time(rows),
      }),
    },
    {
      table: 'points_source_use',
      rows: points,
      row: () => ({ journal_id: 'i', source_id: 'i', kind: `'spend'`, amount: '5' }),
    },
    {
      table: 'points_check_in',
      rows: points,
      row: (word, rows) => ({
        id: 'i',
        user_id: `1 + i % ${users}`,
        check_date: word.day(`${now} - (1 + (${rows} - i) / ${users}) * ${dayMs}`),
        zone: `'UTC'`,
        consecutive_days: '1',
        points: '5',
        journal_id: 'i',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'points_order_reward',
      rows: points / 2,
      row: (word, rows) => ({
        id: 'i',
        order_no: `'filled-' || i`,
        user_id: `1 + i % ${users}`,
        asset: `'points:mall'`,
        status: `'paid'`,
        paid_amount: '1000',
        refunded_amount: '0',
        granted: '10',
        reversed_target: '0',
        deducted: '0',
        shortfall: '0',
        owed: '0',
        recovered: '0',
        source_id: 'i',
        journal_id: 'i',
        version: '1',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      table: 'points_reversal',
      rows: points / 2,
      row: (word, rows) => ({
        id: 'i',
        refund_no: `'filled-' || i`,
        order_no: `'filled-' || i`,
        user_id: `1 + i % ${users}`,
        refund_amount: '10',
        status: `'booked'`,
        wanted: '0',
        deducted: '0',
        shortfall: '0',
        created_at: everyMoment(rows, word),
      }),
    },
    {
      // Ended versions of one rule of points.
      table: 'points_rule',
      rows: points / 100,
      row: (word) => ({
        id: 'i',
        code: `'filled'`,
        version: 'i',
        type: `'task'`,
        asset: `'points:mall'`,
        enabled: 'true',
        config: word.json('{"points":1}'),
        active_from: 'i',
        active_to: 'i + 1',
        created_at: word.moment(String(now)),
      }),
    },
    {
      table: 'points_day',
      rows: points / 100,
      row: (word, rows) => ({
        id: 'i',
        asset: `'points:mall'`,
        day: word.day(`${now} - (1 + ${rows} - i) * ${dayMs}`),
        granted: '10',
        consumed: '5',
        reversed: '0',
        expired: '1',
      }),
    },
    {
      table: 'points_expire_batch',
      rows: points / 100,
      row: (word, rows) => ({
        id: 'i',
        asset: `'points:mall'`,
        as_of: time(rows),
        status: `'completed'`,
        cursor_expires_at: '0',
        cursor_id: '0',
        scanned: '0',
        expired: '0',
        points: '0',
        refused: '0',
        lease_until: '0',
        started_at: everyMoment(rows, word),
        finished_at: everyMoment(rows, word),
      }),
    },
    {
      // A hundred applications call ten routes each, which is a thousand rows per day. The newest rows are of today.
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
      // The number of rules is limited to the maximum that a product stores.
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
      // The oldest quarter of the alert states has expired.
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
    ...ledgerFillings({ users, entries: sizes.entries, findings: alerts }, now, time),
  ]
}

/**
 * Returns the SQL of the account of a movement. The second account belongs to the user who calls the API and has a
 * tenth of all movements.
 */
const accountOf = (movement: string, users: number) =>
  `case when ${movement} % 10 = 0 then 2 else 3 + ${movement} % ${users - 1} end`

/**
 * Fills the ledger. The accounts of users come after the system account. Each journal moves units from the system
 * account to a user.
 */
function ledgerFillings(
  { users, entries, findings }: { readonly users: number; readonly entries: number; readonly findings: number },
  now: number,
  time: (rows: number) => string,
): readonly Filling[] {
  const idOf = (rows: number) =>
    `case when i <= ${rows / pastRetention} then i else (${time(rows)} - ${Date.UTC(2025, 0, 1)}) * 4096 + i % 4096 end`
  const isOwners = 'i % 2 = 1'
  return [
    {
      table: 'money_account',
      rows: users + 1,
      row: () => ({
        id: 'i',
        owner_type: `case when i = 1 then 'system' else 'user' end`,
        owner_id: `case when i = 1 then 'filled' when i = 2 then (select cast(id as text) from iam_user where username = 'root')
          else cast(i as text) end`,
        asset: `'points:mall'`,
        role: `case when i = 1 then 'system' else 'owner' end`,
        available: '0',
        frozen: '0',
        version: '0',
        status: `'open'`,
        created_at: String(now),
        updated_at: String(now),
      }),
    },
    {
      table: 'money_journal',
      rows: Math.ceil(entries / 2),
      row: (_, rows) => ({
        id: 'i',
        idem_hash: `'filled-' || i`,
        idem_key: `'filled-' || i`,
        fingerprint: `'filled'`,
        action: `'credit'`,
        kind: `'points.filled'`,
        ref_type: `'order'`,
        ref_id: `'' || i`,
        occurred_at: time(rows),
        created_at: time(rows),
      }),
    },
    {
      table: 'money_entry',
      rows: entries,
      row: (word, rows) => ({
        id: 'i',
        journal_id: '(i + 1) / 2',
        account_id: `case when ${isOwners} then ${accountOf('(i / 2)', users)} else 1 end`,
        asset: `case when ${isOwners} then 'points:mall' end`,
        seq: `case when ${isOwners} then 1 + i / 2 end`,
        d_available: `case when ${isOwners} then 5 else -5 end`,
        d_frozen: '0',
        available_after: `case when ${isOwners} then 5 * (1 + i / 2) end`,
        frozen_after: `case when ${isOwners} then 0 end`,
        kind: `'points.filled'`,
        // A thousand check-ins per month, the newest in the current month.
        month_key: `cast(replace(substr(${word.day(`${now} - (${rows} - i) / 1000 * ${30 * dayMs}`)}, 1, 7), '-', '') as integer)`,
        created_at: time(rows),
      }),
    },
    {
      table: 'money_hold',
      rows: users,
      row: (_, rows) => ({
        id: 'i',
        account_id: '1 + i',
        amount: '5',
        captured: `case when i % 10 = 0 then 0 else 5 end`,
        released: '0',
        state: `case when i % 10 = 0 then 'open' else 'captured' end`,
        expires_at: String(Number.MAX_SAFE_INTEGER),
        journal_id: 'i',
        created_at: time(rows),
      }),
    },
    {
      table: 'money_reconciliation',
      rows: Math.ceil(findings / 10),
      row: (_, rows) => ({
        id: idOf(rows),
        state: `'completed'`,
        requested_by: `'scheduler'`,
        accounts: '1',
        journals: '1',
        findings: '10',
        created_at: time(rows),
        finished_at: time(rows),
      }),
    },
    {
      // Half of the findings belong to one reconciliation, as after one large error.
      table: 'money_finding',
      rows: findings,
      row: (_, rows) => ({
        id: idOf(rows),
        reconciliation_id: `case when i % 2 = 0 then 1 else 1 + i / 10 end`,
        rule: `'holds'`,
        account_id: '7',
        expected: '5',
        found: '4',
        created_at: time(rows),
      }),
    },
  ]
}
