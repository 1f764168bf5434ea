/** Tests the message after a write whose successful response can contain failures. */
import t from 'tap'
import { addressOfCreated, resultOfWrite } from '../web/admin/pages/forms/write-outcome.ts'
import en from '../web/admin/text/en.json' with { type: 'json' }
import zhCN from '../web/admin/text/zh-CN.json' with { type: 'json' }
import { addTexts, createTranslate } from '../web/text/texts.ts'

addTexts({ en, 'zh-CN': zhCN })

const outcome = { field: 'result.outcome', good: ['accepted'], labels: { rejected: 'Rejected' } }
const sent = (...outcomes: readonly string[]) => outcomes.map((one) => ({ result: { outcome: one } }))
const resultOf = (write: Parameters<typeof resultOfWrite>[0], answer: unknown, language: 'en' | 'zh-CN' = 'en') =>
  resultOfWrite(write, answer, { translate: createTranslate(language), title: 'Send', done: 'Done' })

t.test('a write without an outcome succeeds with its response', async (t) => {
  t.strictSame(resultOf({}, { result: { outcome: 'rejected' } }), { text: 'Done', isFailure: false })
})

t.test('one value decides between success and failure, and its display name is shown', async (t) => {
  t.strictSame(resultOf({ outcome }, sent('accepted')[0]), { text: 'Done', isFailure: false })
  t.strictSame(resultOf({ outcome }, sent('rejected')[0]), { text: 'Send: Rejected', isFailure: true })
  t.strictSame(resultOf({ outcome }, sent('teleported')[0]), { text: '“Send” failed.', isFailure: true })
  t.strictSame(resultOf({ outcome: { field: 'passed', good: [true] } }, { passed: false }).isFailure, true)
  t.strictSame(resultOf({ outcome: { field: 'fault', good: [null] } }, { fault: null }).isFailure, false)
})

t.test('a failure says why', async (t) => {
  const because = { ...outcome, reason: 'result.errorMessage' }
  const failed = (errorMessage: string | null) => ({ result: { outcome: 'rejected', errorMessage } })
  const refused = 'Connection refused'
  t.strictSame(resultOf({ outcome: because }, failed(refused)).text, `Send: Rejected. ${refused}`)
  t.strictSame(resultOf({ outcome: because }, failed(null)).text, 'Send: Rejected')
  t.strictSame(
    resultOf({ outcome: because }, [failed(null), failed(refused)]).text,
    `Send: 0 of 2 succeeded. ${refused}`,
  )
  t.strictSame(resultOf({ outcome: because }, { result: { outcome: 'accepted', errorMessage: refused } }).text, 'Done')
})

t.test('several values are counted, in lists, in pages and in inner lists', async (t) => {
  const counted = { text: 'Send: 1 of 2 succeeded.', isFailure: true }
  t.strictSame(resultOf({ outcome }, sent('accepted', 'rejected')), counted)
  t.strictSame(resultOf({ outcome }, { total: 2, items: sent('accepted', 'rejected') }), counted)
  const inner = { modules: [{ outcome: 'accepted' }, { outcome: 'rejected' }] }
  t.strictSame(resultOf({ outcome: { field: 'modules.outcome', good: ['accepted'] } }, inner), counted)
  t.strictSame(resultOf({ outcome }, sent('accepted', 'accepted')).isFailure, false)
  t.strictSame(resultOf({ outcome }, sent('accepted', 'rejected'), 'zh-CN').text, 'Send：2 项中 1 项成功。')
})

t.test('items without the member are not counted', async (t) => {
  t.strictSame(resultOf({ outcome }, [{ result: null }, ...sent('accepted')]), { text: 'Done', isFailure: false })
  t.strictSame(resultOf({ outcome }, []), { text: 'Send: there was nothing to do.', isFailure: false })
})

t.test('a created row has an address, unless the response has no id', async (t) => {
  const created = { page: 'parcels.one', field: 'attemptId', title: 'Parcel' }
  t.equal(addressOfCreated({ created }, { attemptId: 'a/7' }), '/parcels.one/a%2F7')
  t.equal(addressOfCreated({ created }, { attemptId: null }), undefined)
  t.equal(addressOfCreated({ created }, null), undefined)
  t.equal(addressOfCreated({}, { attemptId: 7 }), undefined)
  t.equal(addressOfCreated({ created }, [{ attemptId: 7 }]), '/parcels.one/7', 'one item of a list')
  t.equal(addressOfCreated({ created }, { items: [{ attemptId: 7 }, { attemptId: 8 }] }), undefined, 'several items')
})
