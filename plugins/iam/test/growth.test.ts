/**
 * Tests the query plans of the lists on each database. Every filter and order must use an index, however large the
 * tables are.
 */
import { type Database, database } from '@plinth/database'
import { onDatabase, watchStatements } from '@plinth/dev/testing/database'
import t from 'tap'
import { startIam } from './fixtures/product.ts'

const rows = 300

async function fill(db: Database) {
  const ids = Array.from({ length: rows }, (_, index) => 1_000_000 + index)
  const [moment, long] = [new Date(Date.UTC(2024, 0, 1)), 'x'.repeat(40)]
  const insert = (
    table: string,
    columns: string,
    valuesOf: (id: number) => (string | number | boolean | Date | null)[],
  ) => {
    const places = `(${columns
      .split(',')
      .map(() => '?')
      .join(', ')})`
    const values = ids.map(() => places).join(', ')
    return db.execute(`insert into ${table} (${columns}) values ${values}`, ids.flatMap(valuesOf))
  }
  await insert(
    'iam_user',
    'id, username, username_key, email_folded, enabled, version, created_at, updated_at, last_login_at',
    (id) => [id, `u${id}`, `u${id}`, `u${id}@x.y`, id % 97 > 0, 1, moment, moment, new Date(id)],
  )
  await insert(
    'iam_audit',
    'id, occurred_at, actor, actor_user_id, action, target_type, target_id, target_name, summary, client_ip, trace_id',
    (id) => [
      id,
      moment,
      `user:${id % 97}`,
      id % 9,
      `a.${id % 97}`,
      `kind-${id % 97}`,
      id,
      `t${id}`,
      '{}',
      '10.0.0.1',
      long,
    ],
  )
  await insert(
    'iam_api_token',
    'id, user_id, name, token_hash, first_characters, permissions, data_scope, created_at, expires_at',
    (id) => [
      id,
      id % 97,
      `t${id}`,
      `h${id}`,
      'abcd',
      '[]',
      'self',
      new Date(Date.UTC(2026, 0, 1)),
      new Date(Date.UTC(2026, 1, 1)),
    ],
  )
  await insert(
    'iam_login_audit',
    'id, occurred_at, method, identifier, user_id, success, client_ip, user_agent, trace_id, attempts',
    (id) => [id, moment, 'password', 'u***', id, id % 97 > 0, `10.0.0.${id % 97}`, 'tap', long, 1],
  )
}

/**
 * Table, query, and the index that must be used for a page, for the next page and for a count that stops at the cap.
 */
const lists: readonly (readonly [table: string, query: string, index: string])[] = [
  ['iam_user', 'users?sort=username', 'iam_user_username_key_unique'],
  ['iam_user', 'users?sort=-email', 'iam_user_email_folded_id_index'],
  ['iam_user', 'users?sort=createdAt', 'iam_user_created_at_id_index'],
  ['iam_user', 'users?sort=-lastLoginAt', 'iam_user_last_login_at_id_index'],
  ['iam_user', 'users?enabled=false', 'iam_user_enabled_id_index'],
  ['iam_user_role', 'users?roleId=1', 'iam_user_role_role_id_user_id_index'],
  ['iam_api_token', 'api-tokens?userId=1', 'iam_api_token_user_id_id_index'],
  ['iam_audit', 'audits?actor=user:1', 'iam_audit_actor_id_index'],
  ['iam_audit', 'audits?action=a.1', 'iam_audit_action_id_index'],
  ['iam_audit', 'audits?targetType=kind-1', 'iam_audit_target_type_id_index'],
  ['iam_audit', 'audits?targetId=1000001', 'iam_audit_target_id_id_index'],
  ['iam_audit', 'audits?targetName=t1000001', 'iam_audit_target_name_id_index'],
  ['iam_audit', 'audits?targetType=kind-1&targetId=1000001', '_target_id_id_index'],
  ['iam_audit', 'audits?targetType=kind-1&targetName=t1000001', '_target_name_id_index'],
  ['iam_login_audit', 'login-audits?userId=1000001', 'iam_login_audit_user_id_id_index'],
  ['iam_login_audit', 'login-audits?success=false', 'iam_login_audit_success_id_index'],
  ['iam_login_audit', 'login-audits?clientIp=10.0.0.1', 'iam_login_audit_client_ip_id_index'],
]

onDatabase(t, 'every list of users and audits is a range scan of its index', async (t, at) => {
  const iam = await startIam(t, at)
  const token = await iam.administrator()
  const db = iam.running.service(database)
  await fill(db)
  const watched = new Map(
    ['iam_user', 'iam_user_role', 'iam_api_token', 'iam_audit', 'iam_login_audit'].map((name) => [
      name,
      watchStatements(db, name),
    ]),
  )
  const list = async (query: string) => {
    const response = await iam.call('GET', `/api/v1/admin/iam/${query}`, { token })
    t.equal(response.code, '200', query)
    return response.data
  }
  await list('users?size=1')
  for (const [table, query, index] of lists) {
    const plans = await watched.get(table)?.plansOf(async () => {
      const { next } = await list(`${query}&size=1&count=capped`)
      if (next !== null) await list(`${query}&size=1&cursor=${next}`)
    })
    // Only the lists read this table, and not the queries that identify the caller. So all plans belong to the list.
    t.ok(plans !== undefined && plans.length >= 1, query)
    for (const { sql, indexes, sorts, scans } of plans ?? []) {
      const isCount = sql.startsWith('select count')
      if (!isCount)
        t.ok(
          indexes.some((name) => name.endsWith(index)),
          `${query} by ${indexes}: ${sql}`,
        )
      t.notOk(sorts, `${query} sorts: ${sql}`)
      // A count without a filter stops at the cap, so it may scan.
      t.notOk(scans.length > 0 && sql.includes('where'), `${query} reads all: ${sql}`)
    }
  }

  await db.execute(
    `insert into iam_user_role (id, user_id, role_id) select id, id, 1 from iam_user where username_key like 'u1%'`,
  )
  const users = watched.get('iam_user')
  users?.clear()
  const held = await list('users?roleId=1&size=1&count=capped')
  t.ok(held.total >= rows, `${held.total} hold the role`)
  t.notOk(
    [...(users?.statements.keys() ?? [])].some((sql) => sql.includes('count(')),
    'who hold a role are counted by the role, not user by user',
  )
})
