/** Tests the names of the action and of the target of an audit entry. */
import { type AuditTexts, bilingual } from '@plinth/kernel'
import t from 'tap'
import { auditWords } from '../src/audit/audit-words.ts'

const kinds: ReadonlyMap<string, AuditTexts> = new Map([
  [
    'shop',
    {
      title: bilingual('Shop', '店铺'),
      actions: { close: bilingual('Close for good', '永久关闭'), update: bilingual('Renovate', '翻新') },
      labels: 'mall.shop',
      page: 'mall.shop',
      nameFrom: 'title',
    },
  ],
  ['price', { title: bilingual('Price', '价格') }],
])
const entry = { action: 'shop.close', targetType: 'shop', targetId: 7, targetName: null, summary: {} }
const words = (change: object = {}, locale = 'en') => auditWords({ ...entry, ...change }, kinds, locale)

t.test('an action has the name of its kind and of its verb, in the language of the reader', (t) => {
  for (const [action, name] of [
    ['shop.close', 'Shop: Close for good'],
    ['shop.update', 'Shop: Renovate'],
    ['price.create', 'Price: Create'],
    ['price.update', 'Price: Change'],
    ['price.delete', 'Price: Delete'],
    ['price.enable', 'Price: Enable'],
    ['price.disable', 'Price: Disable'],
    ['price.set-back.now', 'Price: Set back now'],
    ['price.toString', 'Price: To string'],
    ['other-thing.create', 'Other thing: Create'],
  ] as const)
    t.equal(words({ action }).actionName, name, action)
  t.equal(words({}, 'zh-CN').actionName, '店铺: 永久关闭')
  const chinese = { create: '新建', update: '修改', delete: '删除', enable: '启用', disable: '停用' }
  for (const [verb, name] of Object.entries(chinese))
    t.equal(words({ action: `price.${verb}` }, 'zh-CN').actionName, `价格: ${name}`)
  t.equal(words({ targetType: 'price' }).targetKind, 'Price')
  t.equal(words({ targetType: 'other-thing' }).targetKind, 'Other thing')
  t.end()
})

t.test('a target is an id with the labels and the page of its kind, or a name', (t) => {
  const target = { value: '7', name: null, labels: 'mall.shop', page: 'mall.shop', unit: null }
  t.strictSame(words().target, target)
  t.strictSame(words({ summary: { title: 'Tea' } }).target, { ...target, name: 'Tea' })
  t.strictSame(words({ summary: { title: 3 } }).target, target, 'not a text')
  t.strictSame(words({ targetId: null, targetName: 'all', summary: { title: 'Tea' } }).target, {
    ...target,
    value: 'all',
  })
  t.strictSame(words({ targetType: 'price' }).target, { ...target, labels: null, page: null })
  t.equal(words({ targetId: null }).target, null)
  t.end()
})
