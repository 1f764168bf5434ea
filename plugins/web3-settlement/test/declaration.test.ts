/** Tests the declaration and the README of the plugin. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import settlement from '@plinth/web3-settlement'
import t from 'tap'
import { settlementType } from '../src/candidates.ts'
import { AuditRow, CallbackRow, ReviewRow } from '../src/entities.ts'
import { settlementProvider } from '../src/planning/plan.ts'
import { reviewWorkflow, settlementWorkflow } from '../src/reviews/review-approvals.ts'

const root = join(import.meta.dirname, '..')
const readme = readFileSync(join(root, 'README.md'), 'utf8')

t.test('S-002 S-004 S-005 the records exist, with the members that the document lists', async (t) => {
  t.equal(settlementProvider, 'web3')
  t.equal(settlementType, 'web3-settlement')
  const has = (entity: { meta: { properties: object } }, ...names: string[]) => {
    for (const name of names) t.ok(name in entity.meta.properties, name)
  }
  has(ReviewRow, 'planSnapshot', 'reviewFingerprint', 'permissionSnapshot', 'reasons', 'candidate')
  has(AuditRow, 'riskReasons', 'confirmationSnapshot', 'handlingStatus', 'riskLevel')
  has(CallbackRow, 'outTradeNo', 'outcome', 'eventKey')
})

t.test(
  'S-053 S-054 the workflow has a step for each action, which depends only on states and permissions',
  async (t) => {
    t.equal(reviewWorkflow, 'money.web3.payment-settlement.review')
    t.same(Object.keys(settlementWorkflow.actions), [
      'record',
      'settle',
      'timeout-approve',
      'timeout-reject',
      'auto-retry',
    ])
    for (const [name, rule] of Object.entries(settlementWorkflow.actions)) {
      t.same(Object.keys(rule).sort(), ['displayName', 'from', 'permission'], name)
    }
  },
)

t.test('the README of the plugin covers what the documents leave open', async (t) => {
  for (const words of [
    'native coins',
    'several transfers',
    'too little or too much',
    'paid twice',
    'default confirmations',
    'receivers',
    'by rules',
    'retries by a queue',
    'calculated from the current data of the chain',
  ]) {
    t.ok(readme.replaceAll(/\s+/g, ' ').includes(words), words)
  }
})

t.test('S-050 S-061 S-073 the declaration contains the tasks, keys and permissions of the document', async (t) => {
  const contract = JSON.parse(readFileSync(join(root, '../../test/contract.json'), 'utf8'))
  const keys = new Set(Object.keys(settlement.config ?? {}))
  for (const { key } of contract.configKeys) if (key.startsWith('platform.money.web3.')) t.ok(keys.has(key), key)
  const codes = new Set(settlement.permissions?.map(({ code }) => code))
  for (const { code } of contract.permissions) if (code.startsWith('money:web3:')) t.ok(codes.has(code), code)
  const tasks = new Set(settlement.scheduledTasks?.map(({ name }) => name))
  for (const { name } of contract.schedulerTasks) if (name.startsWith('money.web3.')) t.ok(tasks.has(name), name)
})
