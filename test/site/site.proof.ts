/** Tests the documentation site: each page as HTML and Markdown, search, accessibility, and requests to other hosts. */
import { execFileSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname, extname, join } from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import t from 'tap'

const root = join(import.meta.dirname, '../..')
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')
const executablePath = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path))
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.json': 'application/json',
}
const site = t.testdir()
const bin = join(root, 'node_modules/vitepress/bin/vitepress.js')
const began = performance.now()
execFileSync(process.execPath, [bin, 'build', 'docs', '--outDir', site], { cwd: root, stdio: 'pipe', timeout: 900_000 })
t.comment(`the site was built in ${Math.round((performance.now() - began) / 1_000)} s`)

const pages = globSync('**/*.md', { cwd: join(root, 'docs') })
  .filter((page) => page !== 'requirements.md')
  .map((page) => page.replace('README.md', 'index.md'))
  .sort()

/** Words that readers search for, and the guide that the search must find. */
const guides: readonly (readonly [string, string])[] = [
  ['cron', '/how-to/scheduled-task'],
  ['websocket', '/how-to/embed-inbox'],
  ['validation', '/how-to/route'],
  ['endpoint', '/how-to/route'],
  ['middleware', '/how-to/route'],
  ['rollback migration', '/how-to/table'],
  ['debug breakpoint', '/cli'],
  ['background job', '/how-to/scheduled-task'],
  ['google sso', '/how-to/sign-in-provider'],
  ['oauth login', '/how-to/sign-in-provider'],
  ['multi tenant', '/limits'],
  ['opentelemetry', '/operations/tracing'],
  ['graphql', '/limits'],
  ['docker', '/operations/deployment'],
  ['reconciliation differences', '/reference/http-api/money'],
]

/** Returns a text without the targets of its links. On the site, some links have another target or are text. */
const withoutLinks = (text = '') => text.replaceAll(/\[((?:[^[\]]|\[[^[\]]*\])*)\]\([^()\s]+\)/g, '$1')

/** Serves the built site on a free port of this host. */
async function serve(): Promise<{ readonly server: Server; readonly url: string }> {
  const server = createServer(({ url = '/' }, response) => {
    const path = new URL(url, 'http://site').pathname.replace(/\/$/, '/index.html')
    const file = join(site, decodeURIComponent(path))
    if (!existsSync(file)) return void response.writeHead(404).end()
    response.writeHead(200, { 'content-type': types[extname(file)] ?? 'application/octet-stream' })
    response.end(readFileSync(file))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` }
}

t.test('each page exists as HTML and as Markdown, and llms.txt lists it', (t) => {
  const listed: readonly string[] = readFileSync(join(site, 'llms.txt'), 'utf8').match(/(?<=\]\(\/).+(?=\)$)/gm) ?? []
  t.ok(pages.length > 20)
  const skills = globSync('dev/skills/*/SKILL.md', { cwd: root })
  t.ok(skills.length >= 10)
  for (const file of skills) {
    const page = file.replace(/^.*(?=skills\/)/, '')
    t.ok(listed.includes(page), `llms.txt lists ${page}`)
    t.equal(readFileSync(join(site, page), 'utf8'), readFileSync(join(root, file), 'utf8'), page)
  }
  t.same(listed.filter((page) => !page.startsWith('skills/')).toSorted(), pages)
  for (const page of pages) {
    t.ok(existsSync(join(site, page.replace(/\.md$/, '.html'))), `${page} as HTML`)
    const source = page.replace(/\boperations\/index\.md$/, 'operations/README.md')
    const [copy, original] = [join(site, page), join(root, 'docs', source)].map((file) => readFileSync(file, 'utf8'))
    t.equal(withoutLinks(copy), withoutLinks(original), page)
  }
  t.end()
})

t.test('each relative link and picture of a page in Markdown has a target', (t) => {
  let count = 0
  for (const page of globSync('**/*.md', { cwd: site })) {
    const prose = readFileSync(join(site, page), 'utf8').replaceAll(/^ *```[\s\S]*?^ *```$|`[^`\n]*\]\([^`\n]*`/gm, '')
    for (const [, link = ''] of prose.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^(?:[a-z]+:|#)/.test(link)) continue
      count += 1
      const target = link.startsWith('/') ? join(site, link) : join(site, dirname(page), link)
      if (!existsSync(target.replace(/#.*$/, ''))) t.fail(`${page}: ${link}`)
    }
  }
  t.ok(count > 500, `${count} links`)
  t.match(readFileSync(join(site, 'integrator.md'), 'utf8'), '](operations/index.md)')
  for (const page of ['how-to/scheduled-task', 'zh-CN/how-to/scheduled-task']) {
    t.match(readFileSync(join(site, `${page}.md`), 'utf8'), /\]\((?:\.\.\/)+reference\/scheduler\.md\)/, page)
    t.match(readFileSync(join(site, `${page}.html`), 'utf8'), 'href="/reference/scheduler.html"', page)
  }
  t.end()
})

t.test('each operation of a plugin has a section on the page of the plugin, and the examples have none', (t) => {
  const { paths } = JSON.parse(readFileSync(join(site, 'openapi.json'), 'utf8'))
  const operations: readonly (readonly [string, Readonly<Record<string, string>>])[] = Object.entries(paths).flatMap(
    ([path, methods]) =>
      Object.entries(methods as object).map(([method, one]) => [`${method.toUpperCase()} ${path}`, one] as const),
  )
  t.ok(operations.length > 200)
  for (const [address, { summary, 'x-plugin': plugin = '', 'x-permission': permission }] of operations) {
    const file = join(site, `reference/http-api/${plugin}.md`)
    t.equal(existsSync(file), !plugin.startsWith('example.'), file)
    if (!existsSync(file)) continue
    const section = readFileSync(file, 'utf8')
      .split(/^## /m)
      .find((text) => text.includes(`\n\`${address}\``))
    t.ok(section?.startsWith(`${summary}\n`), address)
    if (permission !== undefined) t.match(section, `Permission: \`${permission}\`.`, address)
  }
  const section = /^## Set the password of a user, [\s\S]+?(?=^## )/m.exec(
    readFileSync(join(site, 'reference/http-api/iam.md'), 'utf8'),
  )?.[0]
  t.match(section, '`PUT /api/v1/admin/iam/users/{id}/password`')
  t.match(section, 'Data scope: `caller`.')
  t.match(section, '| `id` (path) | integer | Required. ID. |')
  t.match(section, '| `password` (body) | string | Required. Password. |')
  t.match(section, '`iam.user-unknown` (404)')
  t.match(readFileSync(join(site, 'reference/http-api/index.md'), 'utf8'), '[openapi.json](/openapi.json)')
  t.notMatch(readFileSync(join(site, 'configuration.md'), 'utf8'), 'platform.example.')
  t.end()
})

t.test('the sidebar of a language leads to each page', (t) => {
  const sidebars = ['index.html', 'zh-CN/index.html'].map((file) => readFileSync(join(site, file), 'utf8')).join('\n')
  for (const page of pages) {
    const address = `/${page.replace(/\.md$/, '.html').replace(/(?<=^|\/)index\.html$/, '')}`
    t.ok(sidebars.includes(`href="${address}"`), page)
  }
  t.end()
})

t.test('in a browser', { skip: executablePath === undefined && 'no browser', timeout: 600_000 }, async (t) => {
  const { server, url } = await serve()
  t.teardown(() => server.close())
  const browser: Browser = await chromium.launch({ executablePath: String(executablePath), args: ['--no-sandbox'] })
  t.teardown(() => browser.close())
  const elsewhere: string[] = []
  const complaints: string[] = []

  async function open(path: string, width: number, colorScheme: 'light' | 'dark'): Promise<Page> {
    const viewport = { width, height: 900 }
    const context = await browser.newContext({ viewport, colorScheme, reducedMotion: 'reduce' })
    const page = await context.newPage()
    page.on('request', (request) => {
      if (new URL(request.url()).origin !== url) elsewhere.push(request.url())
    })
    page.on('pageerror', ({ message }) => complaints.push(`${path}: ${message}`))
    await page.goto(url + path, { waitUntil: 'networkidle', timeout: 180_000 })
    return page
  }

  const views = [1440, 390].flatMap((width) => (['light', 'dark'] as const).map((scheme) => ({ width, scheme })))
  for (const path of [
    '/',
    '/zh-CN/',
    '/integrator.html',
    '/operations/',
    '/glossary.html',
    '/permissions.html',
    '/tutorial/4-routes.html',
    '/reference/events.html',
    '/reference/http-api/iam.html',
    '/zh-CN/operator.html',
  ]) {
    for (const { width, scheme } of views) {
      const page = await open(path, width, scheme)
      await page.evaluate(axe)
      const found = await page.evaluate<string[]>(
        `axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes.slice(0, 3).map(({ html }) => html.slice(0, 200)).join(' | ')))`,
      )
      t.same(found, [], `axe of ${path}, ${width} pixels, ${scheme}`)
      const overhang = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'
      t.equal(await page.evaluate(overhang), 0, `${path} fits ${width} pixels`)
      await page.context().close()
    }
  }

  for (const path of ['/configuration.html', '/configuration.zh-CN.html', '/reference/http-api/iam.html']) {
    const page = await open(path, 1280, 'light')
    const wide = `[...document.querySelectorAll('.vp-doc table')].filter((one) => one.scrollWidth > one.clientWidth).length`
    t.equal(await page.evaluate(wide), 0, `tables of ${path} that do not fit 1280 pixels`)
    await page.context().close()
  }
  const kernel = await open('/reference/kernel.html', 1440, 'light')
  const outline = await kernel.locator('.VPDocAsideOutline a').allTextContents()
  t.ok(outline.includes('definePlugin()'), 'the outline of an API page lists its members')
  await kernel.context().close()

  const page = await open('/', 1440, 'light')
  await page.locator('.VPNavBarSearch button').click()
  await page.locator('.search-input').fill('conformance kit')
  const titles = page.locator('.VPLocalSearchBox .result .titles')
  await titles.first().waitFor({ timeout: 60_000 })
  t.match((await titles.allTextContents()).join('\n'), /Glossary|Write a plugin/, 'the search finds a term')
  for (const [words, guide] of guides) {
    await page.locator('.search-input').fill(words)
    const first = [0, 1, 2].map((index) => `#localsearch-item-${index} a[href*="${guide}"]`).join(', ')
    await page.locator(first).first().waitFor({ timeout: 60_000 })
    t.pass(`"${words}" finds ${guide} among the first three results`)
  }
  t.same(elsewhere, [], 'no request to another host')
  t.same(complaints, [], 'no error of a script')
})
