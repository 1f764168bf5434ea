import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { rolldown } from 'rolldown'
import t from 'tap'
import { fill, textsFor } from '../src/texts.ts'

/** Maximum size of the element in bytes, minified and compressed with gzip -9. */
const maxBytes = 20_000

const properties =
  'apiUrl connectedCallback getToken locale mode open pageSize realtime refresh reset tabs texts theme timeZone tokenUrl unreadCount'

t.test('the element can be imported on a server, and defines all properties on its prototype', async (t) => {
  const { PlinthInbox, defineInbox } = await import('../src/index.ts')
  defineInbox()
  const names = Object.getOwnPropertyNames(PlinthInbox.prototype)
  t.same(names.filter((name) => properties.split(' ').includes(name)).sort(), properties.split(' '))
  t.notOk('customElements' in globalThis)
})

t.test('the element is small, and has no markup, style attribute or evaluation', async (t) => {
  const bundle = await rolldown({ input: join(import.meta.dirname, '../src/index.ts'), platform: 'browser' })
  const { output } = await bundle.generate({ format: 'esm', minify: true })
  await bundle.close()
  t.equal(output.length, 1)
  const { code } = output[0]
  const size = gzipSync(code, { level: 9 }).length
  t.comment(`${code.length} bytes, ${size} with gzip -9`)
  t.ok(size > 4_000 && size < maxBytes, `${size} bytes`)
  t.notMatch(
    code,
    /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|\.style\b|style=|@import|url\(/,
  )
})

t.test('each text differs between the languages, and own texts replace it', async (t) => {
  const [en, zh] = [textsFor('en-GB', {}), textsFor('zh-Hant-TW', {})]
  const same = Object.keys(en).filter((key) => en[key as keyof typeof en] === zh[key as keyof typeof en])
  t.same(same, ['more'])
  t.equal(textsFor('de', { title: 'Post' }).title, 'Post')
  t.equal(fill('{count} of {unknown}', { count: 2 }), '2 of {unknown}')
})
