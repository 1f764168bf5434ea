/** Tests how the facts of an audit entry are described in words. */
import { auditedChanges, spoken } from '@plinth/http'
import { bilingual } from '@plinth/kernel'
import t from 'tap'

const plain = { name: null, labels: null, page: null, unit: null }

t.test('each fact has its title and its values before and after the action', (t) => {
  const facts = {
    roleIds: { title: bilingual('Roles', '角色'), labels: 'iam.role', page: 'iam.role' },
    amount: { title: bilingual('Amount', '金额'), unitFrom: 'asset' },
    state: { title: bilingual('State', '状态'), values: { open: bilingual('Open', '开放') } },
    asset: { title: bilingual('Asset', '资产'), hidden: true },
  }
  const summary = {
    roleIdsBefore: [1],
    roleIds: [1, 2000],
    amount: 12_345,
    asset: 'cny',
    stateBefore: 'open',
    state: 'gone',
    isPaid: true,
    total: 12_345,
    note: '',
    savedBefore: 'yesterday',
  }
  t.strictSame(auditedChanges(summary, { facts }, 'en'), [
    {
      title: 'Roles',
      subject: { ...plain, value: 'Roles' },
      before: { ...plain, value: ['1'], labels: 'iam.role', page: 'iam.role' },
      after: { ...plain, value: ['1', '2000'], labels: 'iam.role', page: 'iam.role' },
    },
    {
      title: 'Amount',
      subject: { ...plain, value: 'Amount' },
      before: null,
      after: { ...plain, value: '12345', unit: 'cny' },
    },
    {
      title: 'State',
      subject: { ...plain, value: 'State' },
      before: { ...plain, value: 'Open' },
      after: { ...plain, value: 'gone' },
    },
    {
      title: 'Is paid',
      subject: { ...plain, value: 'Is paid' },
      before: null,
      after: { ...plain, value: 'Yes' },
    },
    {
      title: 'Total',
      subject: { ...plain, value: 'Total' },
      before: null,
      after: { ...plain, value: '12,345' },
    },
    { title: 'Note', subject: { ...plain, value: 'Note' }, before: null, after: null },
    {
      title: 'Saved before',
      subject: { ...plain, value: 'Saved before' },
      before: null,
      after: { ...plain, value: 'yesterday' },
    },
  ])
  const [flag] = auditedChanges({ isPaid: false }, {}, 'zh-CN')
  t.equal(flag?.after?.value, '否')
  t.equal(auditedChanges({ state: 'open' }, { facts }, 'zh-CN')[0]?.after?.value, '开放')
  t.equal(auditedChanges({ amount: 1 }, { facts }, 'en')[0]?.after?.unit, '', 'the asset was not recorded')
  const org = { orgId: { title: bilingual('Organisation', '组织'), labels: 'iam.org' } }
  t.strictSame(auditedChanges({ orgId: 2000 }, { facts: org }, 'en')[0]?.after, {
    ...plain,
    value: '2000',
    labels: 'iam.org',
  })
  const ending = auditedChanges({ note: 'a', noteSender: 'b' }, {}, 'en').map(({ title }) => title)
  t.strictSame(ending, ['Note', 'Note sender'])
  t.end()
})

t.test('a fact without a title is an object, if the names of the facts are ids', (t) => {
  const subjects = { labels: 'config.key', page: 'config.centre' }
  const [change] = auditedChanges({ 'a.limit': 5 }, { subjects }, 'en')
  t.strictSame(change?.subject, { ...plain, value: 'a.limit', labels: 'config.key', page: 'config.centre' })
  const [unlinked] = auditedChanges({ 'a.limit': 5 }, { subjects: { labels: 'config.key' } }, 'en')
  t.equal(unlinked?.subject.page, null)
  const facts = { state: { title: bilingual('State', '状态') } }
  t.strictSame(auditedChanges({ state: 'x' }, { facts, subjects }, 'en')[0]?.subject, { ...plain, value: 'State' })
  t.equal(spoken('points-account.orderNo_id'), 'Points account order no id')
  t.end()
})
