/** Tests the export of rules as a CSV file that only its owner can read. */

import { assertMembers } from '@plinth/dev/testing'
import { onSqlite } from '@plinth/dev/testing/database'
import t from 'tap'
import { exportRules, startRules } from './fixtures/rules-product.ts'

onSqlite(t, 'N-154 N-155 N-156 the rules of a filter are exported for the caller only', async (t, at) => {
  const started = await startRules(t, at)
  const { rules, raw, call, operator, user, db } = started
  const ann = await user('ann')
  await operator('viewer', 'notification:rule:view')
  await operator('stranger')
  const escalation = { enabled: true, after: 60, channels: ['mail'], recipientUserIds: [ann] }
  await rules('POST', '', { code: 'forum.reply.created', dedupeWindow: 30, recipientUserIds: [ann], escalation })
  await rules('POST', '', { code: 'forum.topic.liked', enabled: false })
  await rules('POST', '', { code: 'scheduler.task.failed' })

  const file = (id: number, who?: string) => raw('GET', `/api/v1/async-tasks/${id}/artifact`, undefined, who)
  const all = await exportRules(t, started)
  const { body, headers } = await file(all)
  t.equal(headers['content-type'], 'text/csv; charset=utf-8')
  t.equal(headers['cache-control'], 'private, no-store')
  t.match(headers['content-disposition'], /notification-rules\.csv/)
  const [titles, ...lines] = body.replace('\ufeff', '').trimEnd().split('\r\n')
  t.match(titles, /^"Code","Enabled","Threshold","Counting window \(seconds\)"/)
  assertMembers(t, lines, [
    new RegExp(`^"forum\\.reply\\.created",true,1,,30,,"database","${ann}",true,60,,"mail","${ann}",1,"`),
    /^"forum\.topic\.liked",false,/,
    /^"scheduler\.task\.failed",true,/,
  ])

  await t.test('N-154 the current filter', async (t) => {
    const codesOf = async (filter: object) => {
      const { body } = await file(await exportRules(t, started, filter))
      return body
        .split('\r\n')
        .slice(1, -1)
        .map((line) => line.split(',')[0])
    }
    t.same(await codesOf({ enabled: false }), ['"forum.topic.liked"'])
    t.same(await codesOf({ keyword: 'FORUM', enabled: true }), ['"forum.reply.created"'])
    t.same(await codesOf({ keyword: 'nothing' }), [])
    t.hasStrict(await call('POST', `${started.path}/export`, { keyword: 'x'.repeat(101) }), { code: '400' })
  })

  await t.test('N-155 anonymous callers and users without the permission get nothing', async (t) => {
    for (const who of ['nobody', 'stranger']) {
      const { body } = await file(all, who)
      t.hasStrict(JSON.parse(body), { code: who === 'nobody' ? '401' : '403' })
      t.notMatch(body, 'forum.reply.created')
    }
    t.equal((await file(all, 'viewer')).body, body, 'who may view rules may read the export')
    const own = await exportRules(t, started, undefined, 'viewer', 'zh-CN')
    t.match((await file(own, 'viewer')).body, /^\ufeff"编码","启用"/)
    t.hasStrict(await call('GET', `/api/v1/async-tasks/${own}/download-url`, undefined, 'viewer'), { code: '200' })
  })

  await t.test('N-156 no cell is a formula', async (t) => {
    // The API does not accept such texts. They are written to the database directly, because the export must not rely
    // on the check of the API.
    const cells = ['=1+1', '@sum', '+49', '-1', '＝1']
    for (const [index, cell] of cells.entries()) {
      const columns =
        'id, code, enabled, threshold_count, channels, recipient_user_ids, escalation_enabled, escalation_channels'
      await db.execute(
        `insert into notification_rule (${columns}, escalation_recipient_user_ids, version, created_at, updated_at, updated_by)
         values (?, ?, ?, 1, ?, '[]', ?, '[]', '[]', 1, ?, ?, ?)`,
        [index + 1, `${cell}${index}`, true, JSON.stringify([cell]), false, new Date(0), new Date(0), cell],
      )
    }
    const { body } = await file(await exportRules(t, started))
    for (const cell of cells) t.ok(body.includes(`"'${cell}`), cell)
    t.notMatch(body, /"[=+\-@＝]/u)
  })
})
