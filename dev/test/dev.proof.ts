import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:http'
import { tmpdir } from 'node:os'
import { join, parse, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import { freePort, programEnvironment, until, watchProcess } from '@plinth/dev/testing'
import { findOptionValue, findSetValue } from '@plinth/kernel/supervisor'
import t, { type Test } from 'tap'
import { onLoadedPackage } from '../../kernel/src/cli/load-product.ts'
import { serveProblemPage } from '../src/dev-server/problem-page.ts'
import { SourceWatch } from '../src/dev-server/source-watch.ts'

const program = join(import.meta.dirname, '../../kernel/bin/plinth.js')

/** A product with a server. Its response contains a text of a plugin and a configuration value. */
const productSource = `
import { createServer } from 'node:http'
import { defineProduct, definePlugin, key } from '@plinth/kernel'
import { startSummary } from '@plinth/kernel/host'
import { word } from './plugin/word.ts'
const web = definePlugin({
  id: 'http', version: '1.0.0', kernel: '^1.0.0', contributes: [startSummary],
  config: {
    'platform.http.host': key.string({ title: 'Host', default: '0.0.0.0' }),
    'platform.http.port': key.port({ title: 'Port', default: 3000 }),
    'platform.http.name': key.string({ title: 'Name', default: 'nobody' }),
  },
  async setup({ config, contribute, onStop }) {
    const [host, port] = [config.get('platform.http.host'), config.get('platform.http.port')]
    const server = createServer((_request, response) => {
      response.setHeader('connection', 'close').end([word, config.get('platform.http.name'), host].join(' '))
    })
    await new Promise((resolve) => server.listen(port, host, resolve))
    onStop(() => server.close())
    contribute(startSummary, 'web', () => [{ label: 'Page', place: 'http://127.0.0.1:' + port + '/', page: 'usual' }])
  },
})
export default defineProduct({ name: 'watched', plugins: [web] })
`

interface DevOptions {
  /** Place of the port. Default: the command line. */
  readonly portIn?: 'environment' | 'file'
  /** Source of the module with the word. */
  readonly word?: string
}

async function startDev(t: Test, words: readonly string[] = [], { portIn, word }: DevOptions = {}) {
  const port = await freePort()
  const workspace = t.testdir({
    product: {
      'package.json': '{ "type": "module" }',
      'plinth.config.ts': productSource,
      plugin: { 'word.ts': word ?? "export { word } from '../../shared/word.ts'\n" },
      '.env': '',
      'other.env': `PLATFORM_HTTP_PORT=${port}\n`,
      below: {},
    },
    shared: { 'package.json': '{ "type": "module" }', 'word.ts': "export const word = 'first'\n" },
  })
  const directory = join(workspace, 'product')
  const write = (file: string, text: string) => writeFileSync(join(directory, file), text)
  const set = portIn === undefined ? ['--set', `platform.http.port=${port}`] : []
  const env = programEnvironment(portIn === 'environment' ? { PLATFORM_HTTP_PORT: String(port) } : {})
  // Starts in a directory below the product file, because `plinth` searches the file in parent directories.
  const child = spawn(process.execPath, [program, 'dev', ...set, ...words], { cwd: join(directory, 'below'), env })
  const dev = watchProcess(t, child)
  const ask = async (headers: Record<string, string> = {}) => {
    const response = await fetch(`http://127.0.0.1:${port}/`, { headers }).catch(() => undefined)
    return { status: response?.status, text: (await response?.text()) ?? '' }
  }
  const responds = (text: string) => until(async () => (await ask()).text.includes(text), `a response with ${text}`)
  return { dev, directory, write, ask, responds, port }
}

t.test('plinth dev restarts after a saved change of a plugin, a linked package or .env, on loopback', async (t) => {
  const { dev, write, responds, directory } = await startDev(t)
  await responds('first nobody 127.0.0.1')
  write('../shared/word.ts', "export const word = 'shared'\n")
  await responds('shared nobody')
  write('plugin/word.ts', "export const word = 'second'\n")
  await responds('second nobody')
  await dev.until(
    () => /Changed: .*word\.ts\. Starting again\.[\s\S]*Restarted in \d/.test(dev.output()),
    'it is announced',
  )
  write('.env', 'PLATFORM_HTTP_NAME=somebody\n')
  await responds('second somebody')
  mkdirSync(join(directory, 'plugin', 'more'))
  write('plugin/more/text.ts', "export const text = 'third'\n")
  write('plugin/word.ts', "import { text } from './more/text.ts'\nexport const word = text\n")
  await responds('third')
  write('plugin/more/text.ts', "export const text = 'fourth'\n")
  await responds('fourth')
  t.strictSame(await dev.end('SIGTERM'), [0, null])
})

t.test(
  'plinth dev survives a syntax error and a failing start, and shows them on the port of the product',
  async (t) => {
    const { dev, write, ask, responds, port } = await startDev(t)
    await responds('first')
    write('plugin/word.ts', 'export const word =\n')
    await responds('PLINTH_PRODUCT_IMPORT')
    const json = await ask()
    t.equal(json.status, 503)
    t.match(JSON.parse(json.text).error.message, /word\.ts[\s\S]*Fix: /)
    const page = await ask({ accept: 'text/html' })
    t.match(page.text, /<h1>The product does not run<\/h1>[\s\S]*word\.ts/)
    t.match(dev.output(), 'It is started again after the next change.')
    const foreign = await new Promise<string>((resolve, reject) => {
      get({ port, headers: { host: 'evil.example' } }, (response) => {
        let text = ''
        response.on('data', (part) => (text += part)).on('end', () => resolve(text))
      }).on('error', reject)
    })
    t.notMatch(foreign, 'word.ts', 'a page of another site learns nothing')
    write('plugin/word.ts', "export const word = 'mended'\n")
    await responds('mended')
    write('.env', 'PLATFORM_HTTP_NAEM=x\nPLATFORM_HTTP_PORT=no number\nPLATFORM_LOG_LEVEL=none\n')
    await responds('PLINTH_START_REFUSED')
    write('.env', '')
    await responds('mended')
    t.strictSame(await dev.end('SIGINT'), [0, null])
  },
)

t.test(
  'plinth dev shows a problem of the first start on the port of the environment or of a settings file',
  async (t) => {
    const word = 'export const word =\n'
    await t.test('environment', async (t) => {
      const { dev, write, responds } = await startDev(t, ['--host', '0.0.0.0'], { portIn: 'environment', word })
      await responds('PLINTH_PRODUCT_IMPORT')
      write('plugin/word.ts', "export const word = 'mended'\n")
      await responds('mended nobody 0.0.0.0')
      t.strictSame(await dev.end('SIGTERM'), [0, null])
    })
    await t.test('settings file, which is watched', async (t) => {
      const { dev, write, responds, port } = await startDev(t, ['--settings-file', '../other.env'], {
        portIn: 'file',
        word,
      })
      await responds('PLINTH_PRODUCT_IMPORT')
      write('plugin/word.ts', "export const word = 'mended'\n")
      await responds('mended nobody 127.0.0.1')
      write('other.env', `PLATFORM_HTTP_PORT=${port}\nPLATFORM_HTTP_NAME=somebody\n`)
      await responds('mended somebody')
      t.strictSame(await dev.end('SIGTERM'), [0, null])
    })
  },
)

t.test('plinth dev ends if there is nothing to watch', async (t) => {
  const wrong = await startDev(t, ['--colour'])
  t.strictSame(await wrong.dev.ended(), [2, null])
  const missing = await startDev(t, ['--product', 'missing.config.ts'])
  t.strictSame(await missing.dev.ended(), [3, null])
  t.match(missing.dev.output(), 'PLINTH_PRODUCT_NOT_FOUND')
})

t.test(
  'in a terminal, plinth dev offers the command that removes the cause of a failed start',
  { skip: !existsSync('/usr/bin/script') },
  async (t) => {
    const directory = t.testdir({
      'package.json': '{ "type": "module" }',
      'plinth.config.ts': `
import { existsSync, writeFileSync } from 'node:fs'
import { definePlugin, defineProduct, PlinthError } from '@plinth/kernel'
const file = new URL('repaired.txt', import.meta.url)
const remedy = { question: 'Repair it now?', words: ['repair'] }
const broken = definePlugin({
  id: 'broken', version: '1.0.0', kernel: '^1.0.0',
  commands: [{ name: 'repair', summary: 'Repair it', run: () => writeFileSync(file, '') }],
  setup({ roles }) {
    if (roles.has('cli') || existsSync(file)) return
    throw Object.assign(new PlinthError('PLINTH_BROKEN', 'It is broken.', 'Repair it.'), { remedy })
  },
})
export default defineProduct({ name: 'broken', plugins: [broken] })
`,
    })
    const line = `exec '${process.execPath}' '${program}' dev`
    const env = programEnvironment({ TERM: 'xterm' })
    const child = spawn('script', ['-qfec', line, '/dev/null'], { cwd: directory, env })
    const dev = watchProcess(t, child)
    const offered = (count: number) =>
      dev.until(() => dev.output().split('Repair it now? [y/N]').length > count, `offer ${count}`)
    await offered(1)
    child.stdin.write('n\n')
    writeFileSync(join(directory, 'other.ts'), '// a change\n')
    await offered(2)
    t.notOk(existsSync(join(directory, 'repaired.txt')), 'without consent nothing runs')
    child.stdin.write('y\n')
    await dev.until(() => /Restarted in \d/.test(dev.output()), 'it runs after the repair')
    t.ok(existsSync(join(directory, 'repaired.txt')))
    child.stdin.write('\u0003')
    t.strictSame(await dev.ended(), [0, null])
  },
)

t.test('--inspect opens the inspector in the process of the product', async (t) => {
  const inspector = await freePort()
  const { dev, write, responds } = await startDev(t, ['--inspect', String(inspector)])
  await responds('first')
  /** Returns the id of the process to which the inspector is connected. */
  const inspected = async () => {
    const response = await fetch(`http://127.0.0.1:${inspector}/json`)
    const [target] = (await response.json()) as { webSocketDebuggerUrl: string }[]
    const socket = new WebSocket(target?.webSocketDebuggerUrl ?? '')
    const answer = Promise.withResolvers<string>()
    socket.onmessage = ({ data }) => answer.resolve(String(data))
    socket.onopen = () =>
      socket.send(JSON.stringify({ id: 1, method: 'Runtime.evaluate', params: { expression: 'process.pid' } }))
    const { result } = JSON.parse(await answer.promise).result
    socket.close()
    return result.value as number
  }
  const first = await inspected()
  t.type(first, 'number')
  t.not(first, dev.child.pid)
  write('plugin/word.ts', "export const word = 'second'\n")
  await responds('second')
  t.not(await inspected(), first)
  t.strictSame(await dev.end('SIGTERM'), [0, null])
})

t.test(
  'the next process loads installed packages before a change, and a changed package.json replaces it',
  async (t) => {
    const { dev, directory, write, responds } = await startDev(t)
    await responds('first')
    const loads = join(directory, 'loads.txt')
    const library = (word: string) =>
      `import { appendFileSync } from 'node:fs'\nappendFileSync(${JSON.stringify(loads)}, '.')\nexport const word = '${word}'\n`
    const loaded = (count: number) =>
      until(() => existsSync(loads) && readFileSync(loads, 'utf8').length === count, `${count} loads of the package`)
    mkdirSync(join(directory, 'node_modules', 'library'), { recursive: true })
    write('node_modules/library/package.json', '{ "name": "library", "type": "module", "exports": "./index.js" }')
    write('node_modules/library/index.js', library('installed'))
    write('plugin/word.ts', "export { word } from 'library'\n")
    await responds('installed')
    await loaded(2)
    write('.env', 'PLATFORM_HTTP_NAME=somebody\n')
    await responds('installed somebody')
    await loaded(3)
    write('node_modules/library/index.js', library('updated'))
    write('package.json', '{ "type": "module", "private": true }')
    await responds('updated somebody')
    t.strictSame(await dev.end('SIGTERM'), [0, null])
  },
)

t.test('the values of options are read from an unparsed command line', (t) => {
  const words = [
    'dev',
    '--host=::1',
    '--set',
    'platform.http.port=1',
    '--set=platform.http.port=2',
    '--product',
    'a.ts',
  ]
  t.equal(findOptionValue(words, '--host'), '::1')
  t.equal(findOptionValue(words, '--product'), 'a.ts')
  t.equal(findOptionValue(words, '--settings-file'), undefined)
  t.equal(findSetValue(words, 'platform.http.port'), '2', 'the last value applies')
  t.equal(findSetValue(words, 'platform.http'), undefined)
  t.end()
})

t.test('only sources of the product are watched, also in new directories', async (t) => {
  const directory = t.testdir({
    src: { 'shop.ts': '' },
    data: { 'rows.json': '' },
    '.cache': { 'a.json': '' },
    'shop.test.ts': '',
    'notes.md': '',
  })
  const sources = new SourceWatch()
  t.teardown(() => sources.close())
  sources.add(directory)
  t.equal(sources.size, 2, 'the directory and its sources')
  const write = (...path: string[]) => writeFileSync(join(directory, ...path), 'changed')
  const changed = async () => (await sources.next()).map((file) => relative(directory, file))
  for (const file of ['shop.test.ts', 'notes.md', '.hidden.ts']) write(file)
  for (const file of [join('data', 'rows.json'), join('.cache', 'a.json')]) write(file)
  write('src', 'shop.ts')
  t.strictSame(await changed(), [join('src', 'shop.ts')])
  write('.env.local')
  t.strictSame(await changed(), ['.env.local'])
  mkdirSync(join(directory, 'more'))
  t.strictSame(await changed(), ['more'], 'its files may have been written before it was watched')
  write('more', 'page.html')
  t.strictSame(await changed(), [join('more', 'page.html')])
})

t.test('the problem page shows the problem on loopback only, as a page or as JSON', async (t) => {
  const port = await freePort()
  const failure = { code: 'ACME_BROKEN', text: '\u001b[31mno <paper> & ink\u001b[0m' }
  const problem = await serveProblemPage(failure, '127.0.0.1', port)
  t.teardown(() => problem.close())
  const second = await serveProblemPage(failure, '127.0.0.1', port)
  await second.close()
  const ask = (headers: Record<string, string>) => {
    const { promise, resolve, reject } = Promise.withResolvers<{ headers: object; text: string }>()
    const request = get({ host: '127.0.0.1', port, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8').on('data', (part) => (text += part))
      response.on('end', () => resolve({ headers: { ...response.headers, status: response.statusCode }, text }))
    })
    request.on('error', reject)
    return promise
  }
  const page = await ask({ accept: 'text/html' })
  t.match(page.headers, {
    status: 503,
    'content-type': /^text\/html/,
    'retry-after': '2',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'content-security-policy': /frame-ancestors 'none'/,
  })
  t.match(page.text, '<pre>no &#60;paper&#62; &#38; ink</pre>')
  t.match(page.text, 'http-equiv="refresh" content="2"')
  for (const host of ['localhost', `127.0.0.1:${port}`, '[::1]:80']) {
    t.same(JSON.parse((await ask({ host })).text), { error: { code: 'ACME_BROKEN', message: 'no <paper> & ink' } })
  }
  t.same(
    JSON.parse((await ask({ host: 'acme.example' })).text),
    { error: { code: 'ACME_BROKEN', message: 'The terminal of `plinth dev` shows the reason.' } },
    'another name may point to this machine',
  )
})

t.test('a module outside of any package belongs to the root of the disk', async (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'plinth-'))
  t.teardown(() => rmSync(directory, { recursive: true }))
  const file = join(directory, 'product.mjs')
  writeFileSync(file, 'export default 1')
  const found: string[] = []
  onLoadedPackage(
    (loaded) => found.push(loaded),
    () => {},
  )
  await import(pathToFileURL(file).href)
  t.strictSame(found, [parse(file).root])
})
