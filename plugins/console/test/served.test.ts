import { readdir, readFile } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import database from '@plinth/database'
import { startForTest, until } from '@plinth/dev/testing'
import events from '@plinth/events'
import httpPlugin, { http } from '@plinth/http'
import i18n from '@plinth/i18n'
import iam from '@plinth/iam'
import install from '@plinth/install'
import { defineProduct } from '@plinth/kernel'
import { signatureHeaders } from '@plinth/open-platform'
import sharedStore from '@plinth/shared-store'
import sitePlugin from '@plinth/site'
import systemConfig from '@plinth/system-config'
import t from 'tap'
import consolePlugin from '../src/index.ts'
import { pagePathsOf } from '../src/page-source.ts'

const product = defineProduct({
  name: 'served',
  plugins: [consolePlugin, database, events, httpPlugin, sitePlugin, i18n, iam, install, sharedStore, systemConfig],
})

t.test(
  'C-053 W-032 I-197 P04 P05 P27 P28 P29 P30 P31 P45 P46 responses of the product below /install/',
  { timeout: 600_000 },
  async (t) => {
    const running = await startForTest(product, {
      set: {
        'platform.http.port': '0',
        'platform.database.sqlite.file': join(t.testdir(), 'plinth.sqlite'),
      },
    })
    t.teardown(() => running.stop('test ended'))
    const server = running.service(http)
    const get = (url: string, headers: Record<string, string> = {}) => server.inject({ url, headers })

    // While the pages are built, the server sends a page that reloads automatically.
    let index = await get('/install/')
    const areBuilt = async () => {
      index = await get('/install/')
      return !index.body.includes('http-equiv="refresh"')
    }
    await until(areBuilt, 'the pages are built')
    const again = await get('/install/')
    const nonceOf = (response: typeof index) =>
      /'nonce-([^']+)'/.exec(String(response.headers['content-security-policy']))?.[1]
    t.match(index, {
      statusCode: 200,
      headers: { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' },
    })
    t.not(nonceOf(index), nonceOf(again), 'a fresh nonce')
    t.notMatch(index.headers['content-security-policy'], /unsafe-/)
    t.match(index.body, `<meta property="csp-nonce" nonce="${nonceOf(index)}"`)
    const nonces = [...index.body.matchAll(/nonce="([^"]*)"/g)].map(([, nonce]) => nonce)
    t.ok(nonces.length >= 3)
    t.same(new Set(nonces), new Set([nonceOf(index)]))

    t.match(index.body, '<title>Plinth</title>')
    const set = (written: string) =>
      running.config.apply([{ name: 'platform.site.name', by: 'key', written, place: 'row 1' }])
    await set('Acme "$&" <shop>')
    const named = (await get('/install/')).body
    t.match(named, '<title>Acme &quot;$&amp;&quot; &lt;shop&gt;</title>', 'E11')
    t.match(named, '<meta name="application-name" content="Acme &quot;$&amp;&quot; &lt;shop&gt;">', 'E11 for its brand')
    await set('')

    const assets = [...index.body.matchAll(/(?:src|href)="\.\/([^"]+)"/g)].map(([, path = '']) => path)
    const types: Readonly<Record<string, string>> = { js: 'text/javascript', css: 'text/css', svg: 'image/svg+xml' }
    t.ok(assets.length >= 2, 'the page loads a script and a style')
    for (const path of assets) {
      const plain = await get(`/install/${path}`)
      t.match(
        plain,
        {
          statusCode: 200,
          headers: {
            'cache-control': 'public, max-age=31536000, immutable',
            'content-type': types[path.split('.').pop() ?? ''] ?? 'none',
            'x-content-type-options': 'nosniff',
            vary: 'accept-encoding',
          },
        },
        path,
      )
      const packed = await get(`/install/${path}`, { 'accept-encoding': 'gzip;q=0.5, br' })
      t.equal(packed.headers['content-encoding'], 'br')
      t.ok(packed.rawPayload.length < plain.rawPayload.length)
      const head = await server.inject({ method: 'HEAD', url: `/install/${path}` })
      t.match(head, { statusCode: 200, body: '', headers: { 'content-length': String(plain.rawPayload.length) } })
    }
    // Measures the bytes that a browser loads for the first view and for the whole wizard.
    const weigh = async (paths: readonly string[], encoding: 'gzip' | 'br') => {
      const weights: Record<string, number> = { js: 0, css: 0 }
      for (const path of paths) {
        const kind = path.split('.').pop() ?? ''
        if (!(kind in weights)) continue
        const response = await get(`/install/${path}`, { 'accept-encoding': encoding })
        t.equal(response.headers['content-encoding'], encoding)
        weights[kind] = (weights[kind] ?? 0) + response.rawPayload.length
      }
      return weights
    }
    const built = await readdir(pagePathsOf(join(import.meta.dirname, '..')).output, { recursive: true })
    const all = built.filter((name) => /^assets.*\.(?:js|css)$/.test(name)).map((name) => name.replaceAll(sep, '/'))
    t.ok(all.length >= 4, 'the built scripts and styles of both pages are found')
    // No page may sign requests of an application, because the secret of an application must stay on the server of the
    // caller.
    for (const name of all) {
      const script = await readFile(join(pagePathsOf(join(import.meta.dirname, '..')).output, name), 'utf8')
      for (const header of Object.values(signatureHeaders))
        t.notOk(script.toLowerCase().includes(header.toLowerCase()), `${name}: ${header}`)
      t.notMatch(script, /createHmac|crypto\.subtle|subtle\.(?:sign|importKey)|plinth_open_/, name)
    }
    // The files of the installer are those that its own files refer to. Other files of the build belong to other pages.
    const whole = new Set(assets)
    for (const path of whole) {
      const { body } = await get(`/install/${path}`)
      for (const name of all) if (body.includes(basename(name))) whole.add(name)
    }
    const views = [
      { name: 'first view, gzip', weights: await weigh(assets, 'gzip') },
      { name: 'whole wizard, brotli', weights: await weigh([...whole], 'br') },
    ]
    for (const { name, weights } of views) {
      t.comment(`${name}: scripts ${weights['js']} bytes, styles ${weights['css']} bytes`)
      t.ok(Number(weights['js']) <= 100 * 1024, `${name}: ${weights['js']} bytes of scripts`)
      t.ok(Number(weights['css']) <= 12 * 1024, `${name}: ${weights['css']} bytes of styles`)
    }

    const head = await server.inject({ method: 'HEAD', url: '/install/' })
    t.match(head, { statusCode: 200, body: '', headers: { 'cache-control': 'no-store' } })

    for (const path of [
      'assets/nope.js',
      'deep/link',
      'install.html',
      'source-hash',
      'assets/',
      `${assets[0]}.br`,
      '%2e%2e/package.json',
    ]) {
      const missing = await get(`/install/${path}`)
      t.equal(missing.statusCode, 404, path)
      t.notMatch(missing.headers['content-type'], /html/, path)
      t.notMatch(missing.headers['cache-control'] ?? '', /immutable/, path)
    }
  },
)
