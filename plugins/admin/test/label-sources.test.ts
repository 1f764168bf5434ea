/** Tests a fixed list of labels as a source of names. */
import { createStaticLabelSource, filterLabels, maxLabels } from '@plinth/admin'
import t from 'tap'

const labels = [
  { id: 'eu-1', name: 'Oslo' },
  { id: 2, name: 'Bergen EU' },
  { id: 3, name: 'Tokyo' },
]

t.test('a search finds labels by a part of their id or name, in any case', (t) => {
  const found = (text: string) => filterLabels(labels, text).map(({ id }) => id)
  t.strictSame(found('eu'), ['eu-1', 2])
  t.strictSame(found('TOKYO'), [3])
  t.strictSame(found('3'), [3])
  t.strictSame(found(''), ['eu-1', 2, 3])
  const many = Array.from({ length: 30 }, (_, id) => ({ id, name: 'x' }))
  t.equal(maxLabels, 20)
  t.strictSame(filterLabels(many, 'x'), many.slice(0, 20))
  t.end()
})

t.test('a fixed list belongs to nobody, and has its names in the language of the request', async (t) => {
  const named = (locale: string) => labels.map(({ id, name }) => ({ id, name: `${name} ${locale}` }))
  const source = createStaticLabelSource(named, 'shop:view')
  t.equal(source.permission, 'shop:view')
  t.equal(source.scope, 'none')
  const request = { locale: 'zh-CN' } as Parameters<typeof source.byIds>[1]
  t.strictSame(await source.byIds(['2', 'eu-1', '9'], request), [
    { id: 'eu-1', name: 'Oslo zh-CN' },
    { id: 2, name: 'Bergen EU zh-CN' },
  ])
  t.strictSame(await source.search('tok', request), [{ id: 3, name: 'Tokyo zh-CN' }])
  t.notOk('permission' in createStaticLabelSource(named))
})
