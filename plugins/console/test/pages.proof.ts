import { execFile } from 'node:child_process'
import { cp, mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { manualClock, until } from '@plinth/dev/testing'
import type { BrowserPage as ServedPage } from '@plinth/http'
import type { Logger } from '@plinth/kernel'
import { systemClock } from '@plinth/kernel'
import t from 'tap'
import { builtPage } from '../src/built-page.ts'
import { installPage } from '../src/contract.ts'
import { PageBuild } from '../src/page-build.ts'
import { builtHash, pagePathsOf, sourceHash } from '../src/page-source.ts'

const home = join(import.meta.dirname, '..')

/** Returns a log that stores its lines as text. */
function listener() {
  const lines: string[] = []
  const add = (first: unknown, second?: string) => {
    const error = (first as { err?: Error }).err
    lines.push([second ?? String(first), error?.message ?? ''].join(' '))
  }
  return { lines, log: { info: add, warn: add } as unknown as Logger }
}

/** Copies this package to a directory, so that a test may change its sources. */
async function checkout(root: string): Promise<string> {
  for (const name of ['web', 'src', 'scripts', 'package.json']) {
    await cp(join(home, name), join(root, name), { recursive: true })
  }
  // Each library is linked separately, so that new files in `node_modules` are written only to the copy.
  const libraries = join(home, 'node_modules')
  await mkdir(join(root, 'node_modules'))
  for (const name of await readdir(libraries)) {
    await symlink(join(libraries, name), join(root, 'node_modules', name), 'junction')
  }
  return root
}

/** A build program for tests. It writes its output directly, without a bundler. */
const quickProgram = `
import { mkdir, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pagePathsOf, sourceHash } from '../src/page-source.ts'
const places = pagePathsOf(join(import.meta.dirname, '..'))
await mkdir(join(places.output, 'assets'), { recursive: true })
await writeFile(join(places.output, 'install.html'), '<p nonce="__CSP_NONCE__">quick</p>')
await writeFile(places.record, sourceHash(places))
console.log('quick build')
`

t.test('I-197 P04 P05 P27 P45 a checkout without built pages builds them once and serves them', async (t) => {
  const root = await checkout(t.testdir())
  const places = pagePathsOf(root)
  const { lines, log } = listener()
  const build = new PageBuild(places, { clock: systemClock, log })
  build.start()
  t.ok(build.isRunning, 'nobody waits for it')
  await build.settled(120_000)
  t.match(
    lines.join('\n'),
    /building the back office pages[\s\S]*admin: first view scripts [\d.]+ KB and styles [\d.]+ KB[\s\S]*Built in [\d.]+ s: in all scripts/,
  )
  const [, scripts, styles] =
    /admin: first view scripts ([\d.]+) KB and styles ([\d.]+) KB/.exec(lines.join('\n')) ?? []
  t.ok(Number(scripts) + Number(styles) <= 200, `the first view of the back office has ${scripts} and ${styles} KB`)
  t.equal(await builtHash(places), sourceHash(places))

  const page = builtPage(places, build, 'install')
  const html = (await page.html({ nonce: 'n0nce', locale: 'en' })) ?? ''
  t.notMatch(html, '__CSP_NONCE__')
  t.match(html, '<meta property="csp-nonce" nonce="n0nce"')
  const addresses = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => address ?? '')
  t.ok(addresses.length >= 3)
  t.same(
    addresses.filter((address) => !address.startsWith('./assets/')),
    [],
    'relative alone: the page works below any context path',
  )
  for (const tag of html.match(/<script[^>]*>|<link rel="stylesheet"[^>]*>/g) ?? []) t.match(tag, 'nonce="n0nce"')
  t.notMatch(html, /<script(?![^>]*src=)|<style|style="|onload=/, 'nothing inline')

  for (const address of addresses) {
    const path = address.slice(2)
    const plain = await page.asset(path, [])
    t.ok(plain?.immutable, path)
    t.match(plain?.contentType, /javascript|css|svg/)
    t.match(path, /-[\w-]{8}\.\w+$/, 'its name changes with its content')
    const br = await page.asset(path, ['br', 'gzip'])
    const gzip = await page.asset(path, ['zstd', 'gzip', 'br'])
    t.same([br?.encoding, gzip?.encoding], ['br', 'gzip'])
    t.same(brotliDecompressSync(br?.body ?? ''), plain?.body)
    t.same(gunzipSync(gzip?.body ?? ''), plain?.body)
  }
  const script = addresses.find((address) => address.endsWith('.js')) ?? ''
  const code = String((await page.asset(script.slice(2), []))?.body)
  t.notOk(/\beval\(|new Function\(/.test(code), 'no code from text')
  for (const path of [
    'assets/nope.js',
    'assets/../install.html',
    'install.html',
    'source-hash',
    '',
    'assets/',
    `${script.slice(2)}.br`,
  ]) {
    t.equal(await page.asset(path, ['br']), undefined, `P28 ${path}`)
  }

  lines.length = 0
  const second = new PageBuild(places, { clock: systemClock, log })
  second.start()
  await second.settled(60_000)
  t.same(lines, [], 'what is current is not built again')
})

t.test('I-203 P44 if pages cannot be built, the product works without them and logs the reason', async (t) => {
  const root = await checkout(t.testdir())
  const places = pagePathsOf(root)
  await writeFile(join(root, 'web/install/main.tsx'), 'this is no program (')
  const { lines, log } = listener()
  const build = new PageBuild(places, { clock: systemClock, log })
  build.start()
  await build.settled(120_000)
  t.match(lines.join('\n'), /could not be built[\s\S]*main\.tsx/)
  const page = builtPage(places, build, 'install')
  t.equal(await page.html({ nonce: 'n', locale: 'en' }), undefined, 'the fallback page is served')
  t.equal(await page.asset('assets/install.js', []), undefined)
  t.same(await readdir(places.workplace), [], 'nothing half done is left')
})

t.test(
  'I-197 changed sources are built again; after a stopped or slow build the page reports that it is waiting',
  async (t) => {
    const root = await checkout(t.testdir())
    const places = pagePathsOf(root)
    await writeFile(places.program, quickProgram)
    const { lines, log } = listener()
    const run = async () => {
      const build = new PageBuild(places, { clock: systemClock, log })
      build.start()
      await build.settled(60_000)
      return builtPage(places, build, 'install')
    }
    t.equal(await (await run()).html({ nonce: 'x', locale: 'en' }), '<p nonce="x">quick</p>')
    await run()
    t.equal(lines.filter((line) => line.includes('quick build')).length, 1)
    await writeFile(join(root, 'web/text/note.json'), '{}')
    await run()
    t.equal(lines.filter((line) => line.includes('quick build')).length, 2, 'a new source file')
    const manifest = await readFile(places.manifest, 'utf8')
    await writeFile(places.manifest, manifest.replace('"react": "', '"react": "^'))
    await run()
    t.equal(lines.filter((line) => line.includes('quick build')).length, 3, 'another version of a library')

    await writeFile(places.program, 'setInterval(() => {}, 1000)')
    const clock = manualClock()
    const build = new PageBuild(places, { clock, log })
    build.start()
    const page = builtPage(places, build, 'install')
    const waiting = page.html({ nonce: 'w', locale: 'zh-CN' })
    await until(() => clock.sleepers >= 2, 'a timer is set', 0)
    await clock.advance(5_000)
    const html = (await waiting) ?? ''
    t.match(
      html,
      /<html lang="zh-CN">[\s\S]*http-equiv="refresh"[\s\S]*<link rel="icon" href="data:,">[\s\S]*<style nonce="w">[\s\S]*<h1>请稍候<\/h1>/,
    )
    const named = page.html({ nonce: 'w', locale: 'en', siteTitle: 'Acme <shop>' })
    await until(() => clock.sleepers >= 2, 'a timer is set', 0)
    await clock.advance(5_000)
    t.match(await named, '<title>One moment · Acme &lt;shop&gt;</title>', 'E11')
    t.match(lines.filter((line) => line.startsWith('still')).at(0), 'still building the pages (5 s)')
    await build.stop()
    t.notOk(build.isRunning)
  },
)

t.test(
  'two products that build at the same time in one checkout leave complete pages',
  { timeout: 600_000 },
  async (t) => {
    const root = await checkout(t.testdir())
    const places = pagePathsOf(root)
    // The pages are small, because this test is only about the replacement of built files.
    for (const page of ['install', 'admin'])
      await writeFile(join(root, 'web', page, 'main.tsx'), `document.title = '${page}'\n`)
    const run = promisify(execFile)
    const environment = { ...process.env, NODE_ENV: 'production' }
    // Creates the directory of a build that was killed long ago, and that of a running build.
    const [abandoned, present] = ['plinth-pages-old', 'plinth-pages-new'].map((name) =>
      join(places.workplace, name),
    ) as [string, string]
    for (const draft of [abandoned, present]) await mkdir(draft, { recursive: true })
    const longAgo = new Date(Date.now() - 2 * 60 * 60_000)
    await utimes(abandoned, longAgo, longAgo)
    await Promise.all([1, 2].map(() => run(process.execPath, [places.program], { env: environment })))
    t.equal(await builtHash(places), sourceHash(places))
    t.same(await readdir(places.workplace), ['plinth-pages-new'], 'nothing of theirs is left')
    const page = builtPage(places, new PageBuild(places, { clock: systemClock, log: listener().log }), 'install')
    const html = (await page.html({ nonce: 'n', locale: 'en' })) ?? ''
    const assets = [...html.matchAll(/="\.\/(assets\/[^"]+)"/g)].map(([, path = '']) => path)
    t.ok(assets.length >= 1, 'the page loads its script')
    for (const path of assets) t.ok(await page.asset(path, []), path)
  },
)

t.test('I-197 a published package contains its pages and builds nothing', async (t) => {
  const root = t.testdir()
  const places = pagePathsOf(root)
  await mkdir(join(places.output, 'assets'), { recursive: true })
  await writeFile(join(places.output, 'install.html'), '<p>published</p>')
  const { lines, log } = listener()
  const build = new PageBuild(places, { clock: systemClock, log })
  build.start()
  await build.settled(10_000)
  t.same(lines, [])
  t.equal(await builtPage(places, build, 'install').html({ nonce: '', locale: 'en' }), '<p>published</p>')
})

t.test('I-004 the page finds the service that the installation needs by its id', async (t) => {
  const page: ServedPage = builtPage(
    pagePathsOf('/nowhere'),
    new PageBuild(pagePathsOf('/nowhere'), { clock: systemClock, log: listener().log }),
    'install',
  )
  t.type(page.html, 'function')
  const { installPage: expected } = await import('@plinth/install')
  t.equal(installPage.id, expected.id)
})
