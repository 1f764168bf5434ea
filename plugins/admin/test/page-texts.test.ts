/** Tests that a declaration is translated by its schema. */
import { type ListPageDeclaration, pageSchema, translated } from '@plinth/admin'
import t from 'tap'

const both = (en: string, zh: string) => ({ en, 'zh-CN': zh })

t.test('texts of a page are returned in one language, and everything else stays the same', async (t) => {
  const page: ListPageDeclaration = {
    kind: 'list',
    id: 'shop.parcels',
    title: both('Parcels', '包裹'),
    source: 'getShopParcels',
    key: 'id',
    columns: [
      { field: 'id', as: 'count', unit: 'ms' },
      // The names of these labels are languages.
      { field: 'locale', as: 'text', labels: { en: 'English', 'zh-CN': '中文' } },
      { field: 'lines', as: 'rows', columns: [{ field: 'sku', as: 'text', title: both('Article', '商品') }] },
    ],
    actions: [
      {
        operation: 'putShopParcel',
        label: both('Close', '关闭'),
        params: { id: { field: 'id' } },
        body: { closed: { value: true } },
        when: { closed: [false, null] },
      },
    ],
    live: ['shop_parcel'],
  }
  const chinese = {
    ...page,
    title: '包裹',
    columns: [
      page.columns[0],
      page.columns[1],
      { field: 'lines', as: 'rows', columns: [{ field: 'sku', as: 'text', title: '商品' }] },
    ],
    actions: [{ ...page.actions?.[0], label: '关闭' }],
  }
  t.strictSame(translated(pageSchema, page, 'zh-CN'), chinese)
  t.equal(translated(pageSchema, page, 'en').title, 'Parcels')
})
