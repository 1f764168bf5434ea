import { assertMembers } from '@plinth/dev/testing'
import { createDatabase } from '@plinth/dev/testing/database'
import { definePlugin, healthCheck, key } from '@plinth/kernel'
import t from 'tap'
import { startLiveOffice } from './fixtures/live-office.ts'

const token = 'lamp-oil-secret-4711'

t.test('operators see which health checks fail and why, without secrets, and that they need attention', async (t) => {
  let isBroken = false
  let isLow = false
  const lamp = definePlugin({
    id: 'lamp',
    version: '1.0.0',
    kernel: '^1.0.0',
    contributes: [healthCheck],
    config: { 'platform.lamp.token': key.string({ title: 'Token', required: true, sensitive: true }) },
    setup({ contribute }) {
      contribute(healthCheck, 'lamp', () => {
        if (isBroken) throw new Error(`no oil for ${token}`)
        return { warnings: isLow ? [`Little oil for ${token}. Fill it.`] : [] }
      })
    },
  })
  const at = await createDatabase('sqlite')
  t.teardown(() => at.drop())
  const { call, root } = await startLiveOffice(
    (work) => t.teardown(work),
    at,
    { 'platform.lamp.token': token },
    { plugins: [lamp] },
  )
  t.hasStrict(await call('GET', 'admin/console/health'), { code: '401' })
  const session = await root()
  const checks = async () => (await call('GET', 'admin/console/health', session)).data
  t.strictSame(await checks(), [
    { name: 'database', outcome: 'passed', reason: null },
    { name: 'lamp', outcome: 'passed', reason: null },
  ])
  const page = (await call('GET', 'admin/console/pages/console.health', session)).data as {
    readonly columns: readonly { readonly labels?: Readonly<Record<string, string>> }[]
  }
  t.equal(page.columns[0]?.labels?.['database'], 'Database')
  isLow = true
  const warned = (await checks()) as readonly { readonly reason: string }[]
  assertMembers(t, warned, [
    { name: 'lamp', outcome: /^warning$/, reason: /^Little oil for \*+\. Fill it\.$/ },
    { name: 'database', outcome: /^passed$/ },
  ])
  isBroken = true
  const [first] = (await checks()) as readonly { readonly reason: string }[]
  t.match(first, { name: 'lamp', outcome: /^failed$/, reason: /^no oil for / }, 'what fails stands first')
  t.notMatch(first?.reason, token)
  const { data } = await call('GET', 'admin/console/attention', session)
  const { items } = data as { readonly items: readonly { readonly id: string }[] }
  t.hasStrict(
    items.find(({ id }) => id === 'console.health'),
    { path: '/api/v1/admin/console/health', where: { outcome: 'failed' }, page: { id: 'console.health' } },
  )
})
