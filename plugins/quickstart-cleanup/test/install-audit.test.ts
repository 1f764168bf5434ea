import { assertMembers } from '@plinth/dev/testing'
import { onEachDatabase } from '@plinth/dev/testing/database'
import eventsPlugin from '@plinth/events'
import installPlugin from '@plinth/install'
import sitePlugin from '@plinth/site'
import systemConfigPlugin from '@plinth/system-config'
import t, { type Test } from 'tap'
import { allPhrase, startCleanup } from './fixtures/products.ts'

const auditLogs = '/api/v1/admin/install/audit-logs?action=quickstart-cleanup'

onEachDatabase(t, 'I-015 I-058 I-181 together with the installer, disabled', async (t: Test, db) => {
  const { call, left, confirm } = await startCleanup(t, db, {
    modules: { forum: {}, mall: { removeItems: () => Promise.reject(new Error('no')) } },
    audit: false,
    plugins: [eventsPlugin, systemConfigPlugin, sitePlugin, installPlugin],
    config: { 'platform.install.enabled': false },
  })
  await call('POST', '/forum', { ...confirm('forum'), confirmation: 'wrong-phrase' })
  const { status, code, data } = await call('POST', '/mall', {})
  t.same(
    [status, code, data],
    [200, '400', { reason: 'quickstart-cleanup.confirmation-mismatch', field: 'moduleCode' }],
  )
  const { data: run } = await call('POST', '', { confirmation: allPhrase })
  t.match(run, { passed: false, cleanedCount: 1, failedCount: 1 }, 'the switch of the installation does not count')
  t.same(
    [await left('forum'), await left('mall')],
    [
      [0, 0],
      [1, 2],
    ],
  )

  const { data: page } = await call('GET', auditLogs)
  t.equal(page.total, 4)
  assertMembers(t, page.items, [
    {
      action: 'quickstart-cleanup',
      status: 'failed',
      sourceIp: '127.0.0.1',
      userAgent: 'tap',
      summary: { module: 'mall' },
    },
    { action: 'quickstart-cleanup', status: 'passed' },
    { action: 'quickstart-cleanup', status: 'failed', summary: { module: 'mall', errorKey: 'confirmation-mismatch' } },
    { action: 'quickstart-cleanup', status: 'failed', summary: { module: 'forum', errorKey: 'confirmation-mismatch' } },
  ])
  const reported = JSON.stringify(page)
  for (const word of ['forum', 'mall', 'demo-items', 'removal-failed', 'confirmation-mismatch']) t.match(reported, word)
  t.notMatch(reported, /wrong-phrase|CLEAN-|一键清理/)
})
