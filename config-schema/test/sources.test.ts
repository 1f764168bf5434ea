import { join } from 'node:path'
import { assertMembers } from '@plinth/dev/testing'
import t from 'tap'
import { key } from '../src/index.ts'
import { collectKeys, type ReadSourceResult, readSource, sourcesOf } from '../src/reading.ts'

const { keys } = collectKeys([
  {
    plugin: 'shop',
    keys: {
      'platform.shop.wait': key.duration({ title: 'x', default: '1s', minimum: '1s' }),
      'platform.shop.delay': key.string({
        title: 'x',
        deprecated: { since: '2.0.0', replacement: 'platform.shop.wait' },
      }),
      'platform.shop.token': key.string({ title: 'x', sensitive: true, minLength: 6, env: 'SHOP_TOKEN' }),
      'platform.shop.file': key.string({ title: 'x', editable: false }),
      'platform.shop.state': key.boolean({ title: 'x', default: false, state: true }),
    },
  },
])
const index = { key: keys, variable: new Map([...keys.values()].map((owned) => [owned.env, owned])) }
const summary = ({ layers, findings, refused }: ReadSourceResult) => ({
  layers: layers.map(({ key: name, place, written }) => [name, place, written]),
  findings: findings.map(({ rule, isWarning, place }) => [rule, isWarning, place]),
  refused,
})

t.test(
  'K-008 the environment of a process supplies sources, the weakest first, each value with its place',
  async (t) => {
    const root = t.testdir({
      'product.ts': "export default {\n  'platform.shop.wait': '2s',\n}",
      '.env': 'OTHER=1\nSHOP_TOKEN=hush-hush\n',
    })
    const sources = sourcesOf({
      config: { 'platform.shop.wait': '2s' },
      file: join(root, 'product.ts'),
      root,
      environment: { PLATFORM_SHOP_DELAY: '3s', PLATFORM_OF_OTHERS: 'x', HOME: '/', GONE: undefined },
      set: { 'platform.shop.wiat': '4s', 'platform.shop.token': 'short' },
    })
    const read = sources.map((source) => [source.name, summary(readSource(source, index))])
    t.strictSame(read, [
      ['file', { layers: [['platform.shop.wait', 'product.ts:2', '2s']], findings: [], refused: [] }],
      ['dotenv', { layers: [['platform.shop.token', '.env:2', 'hush-hush']], findings: [], refused: [] }],
      [
        'environment',
        {
          layers: [['platform.shop.wait', 'environment variable PLATFORM_SHOP_DELAY', '3s']],
          findings: [
            ['deprecated', true, 'environment variable PLATFORM_SHOP_DELAY'],
            ['unknown', true, 'environment variable PLATFORM_OF_OTHERS'],
          ],
          refused: [],
        },
      ],
      [
        'command-line',
        {
          layers: [],
          findings: [
            ['unknown', false, '--set platform.shop.wiat'],
            ['invalid', false, '--set platform.shop.token'],
          ],
          refused: ['platform.shop.token'],
        },
      ],
    ])
    const named = sourcesOf({ config: {}, file: undefined, root, envFile: 'other.env' })[1]
    assertMembers(t, named?.unreadable, [{ place: join(root, 'other.env'), reason: 'ENOENT' }])
    t.strictSame(
      sourcesOf({ config: {}, file: undefined, root, envFile: false }).map(({ name }) => name),
      ['file', 'environment', 'command-line'],
    )
  },
)

t.test('K-008 the database supplies only values that operators edit or owners store there', async (t) => {
  const row = (name: string, written: string | boolean) => ({ name, by: 'key', written, place: `row ${name}` }) as const
  const rows = [
    row('platform.shop.wait', '5s'),
    row('platform.shop.state', true),
    row('platform.shop.file', 'x'),
    row('platform.gone.size', 'x'),
  ]
  const reading = readSource({ name: 'database', entries: rows }, index)
  t.strictSame(
    reading.layers.map(({ key: name, source }) => [name, source]),
    [
      ['platform.shop.wait', 'database'],
      ['platform.shop.state', 'database'],
    ],
  )
  assertMembers(t, reading.findings, [
    { rule: 'invalid', plugin: 'shop', details: { reason: /must not come from the database/ } },
  ])
  t.strictSame(reading.orphaned, [{ name: 'platform.gone.size', source: 'database', place: 'row platform.gone.size' }])
})
