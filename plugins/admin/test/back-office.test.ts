import { adminPages, attention, backOffice, createStaticLabelSource, labelSources, tiles } from '@plinth/admin'
import { definePlugin, optional, service } from '@plinth/kernel'
import { unwrapOptional } from '@plinth/kernel/host'
import t from 'tap'

const title = { en: 'Depots', 'zh-CN': '仓库' }
const tile = { id: 'acme.depots', title, order: 1, source: 'getAdminAcmeDepots', field: 'total' }
const labels = { 'acme.state': createStaticLabelSource(() => [{ id: 'open', name: 'Open' }]) }

t.test('backOffice declares exactly the given parts, for an owner that may be missing', async (t) => {
  const entries = backOffice({ labels, tiles: [tile] })
  t.strictSame(
    entries.map(({ kind, ref: { id, values } }) => [kind, id, values({} as never)]),
    [
      ['optional', tiles.id, [tile]],
      ['optional', labelSources.id, labels],
    ],
  )
  t.strictSame(backOffice({}), [])
})

t.test('a plugin contributes in setup only to points that it declares', async (t) => {
  const database = service<{ readonly rows: number }>('database')
  const plugin = definePlugin({
    id: 'acme.depots',
    version: '1.0.0',
    kernel: '^1.0.0',
    requires: { database },
    contributes: [
      ...backOffice({ tiles: ({ database }: { database: { rows: number } }) => (database.rows > 0 ? [tile] : []) }),
      optional(attention),
    ],
    setup({ contribute }) {
      contribute(tiles, tile.id, tile)
      // @ts-expect-error the plugin declares no pages
      contribute(adminPages, 'acme.depots', {})
    },
  })
  t.strictSame(
    plugin.contributes?.map((entry) => unwrapOptional(entry).id),
    [tiles.id, attention.id],
  )
})
