import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type * as served from '@plinth/install'
import t from 'tap'
import factorsEn from '../web/admin/factors/text/en.json' with { type: 'json' }
import factorsZhCN from '../web/admin/factors/text/zh-CN.json' with { type: 'json' }
import composeEn from '../web/admin/own/compose/text/en.json' with { type: 'json' }
import composeZhCN from '../web/admin/own/compose/text/zh-CN.json' with { type: 'json' }
import centreEn from '../web/admin/own/config-centre/text/en.json' with { type: 'json' }
import centreZhCN from '../web/admin/own/config-centre/text/zh-CN.json' with { type: 'json' }
import pluginsEn from '../web/admin/own/product-plugins/text/en.json' with { type: 'json' }
import pluginsZhCN from '../web/admin/own/product-plugins/text/zh-CN.json' with { type: 'json' }
import rolesEn from '../web/admin/own/role-matrix/text/en.json' with { type: 'json' }
import rolesZhCN from '../web/admin/own/role-matrix/text/zh-CN.json' with { type: 'json' }
import securityEn from '../web/admin/own/security/text/en.json' with { type: 'json' }
import securityZhCN from '../web/admin/own/security/text/zh-CN.json' with { type: 'json' }
import workEn from '../web/admin/pages/work/text/en.json' with { type: 'json' }
import workZhCN from '../web/admin/pages/work/text/zh-CN.json' with { type: 'json' }
import providersEn from '../web/admin/providers/text/en.json' with { type: 'json' }
import providersZhCN from '../web/admin/providers/text/zh-CN.json' with { type: 'json' }
import recoveryEn from '../web/admin/recovery/text/en.json' with { type: 'json' }
import recoveryZhCN from '../web/admin/recovery/text/zh-CN.json' with { type: 'json' }
import adminEn from '../web/admin/text/en.json' with { type: 'json' }
import adminZhCN from '../web/admin/text/zh-CN.json' with { type: 'json' }
import walletEn from '../web/admin/wallet/text/en.json' with { type: 'json' }
import walletZhCN from '../web/admin/wallet/text/zh-CN.json' with { type: 'json' }
import type * as used from '../web/install/wire.ts'
import en from '../web/text/en.json' with { type: 'json' }
import { languages } from '../web/text/language.ts'
import { addTexts, createTranslate, type TextKey } from '../web/text/texts.ts'
import zhCN from '../web/text/zh-CN.json' with { type: 'json' }
import { findAccessibilityProblems, openPage, skip } from './fixtures/browser.ts'

const home = join(import.meta.dirname, '..')

type Tree = { readonly [name: string]: string | Tree }
const flat = (tree: Tree, prefix = ''): [string, string][] =>
  Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string' ? [[prefix + name, value] as [string, string]] : flat(value, `${prefix}${name}.`),
  )
const placeholders = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).sort()

t.test('I-201 both languages have every text, with the same placeholders', async (t) => {
  const english = new Map(
    [
      en,
      adminEn,
      composeEn,
      centreEn,
      factorsEn,
      pluginsEn,
      providersEn,
      recoveryEn,
      rolesEn,
      securityEn,
      walletEn,
      workEn,
    ].flatMap((texts) => flat(texts)),
  )
  const chinese = new Map(
    [
      zhCN,
      adminZhCN,
      composeZhCN,
      centreZhCN,
      factorsZhCN,
      pluginsZhCN,
      providersZhCN,
      recoveryZhCN,
      rolesZhCN,
      securityZhCN,
      walletZhCN,
      workZhCN,
    ].flatMap((texts) => flat(texts)),
  )
  t.same([...chinese.keys()], [...english.keys()])
  for (const [key, text] of english) {
    t.not(text, '', key)
    t.same(placeholders(chinese.get(key) ?? ''), placeholders(text), key)
  }
})

t.test('a page says each text of the common and of its own catalogue', (t) => {
  addTexts({ en: adminEn, 'zh-CN': adminZhCN })
  const catalogues = { en: [en, adminEn], 'zh-CN': [zhCN, adminZhCN] }
  for (const language of languages) {
    const translate = createTranslate(language)
    for (const [key, text] of catalogues[language].flatMap((texts) => flat(texts)))
      t.equal(translate(key as TextKey), text.replaceAll(/\{\{\w+\}\}/g, ''), `${language} ${key}`)
  }
  const translate = createTranslate('en')
  t.equal(translate, createTranslate('en'), 'the function stays the same')
  t.equal(translate('app.failure.trace', { traceId: 'a1' }), 'Trace ID: a1')
  t.equal(translate('nothing.here' as TextKey), 'nothing.here')
  const plural = flat(en)
    .find(([key]) => key.endsWith('_one'))?.[0]
    .replace('_one', '') as TextKey
  t.not(translate(plural, { count: 1 }), translate(plural, { count: 2 }))
  t.end()
})

t.test('the sources of the pages pass a type check for browsers', { timeout: 600_000 }, async (t) => {
  const tsc = join(home, '..', '..', 'node_modules', '.bin', 'tsc')
  // The compiler runs without NODE_OPTIONS. Otherwise tap would load itself into the process, and the compiler could
  // not start.
  const check = promisify(execFile)('env', ['-u', 'NODE_OPTIONS', tsc, '-p', join(home, 'web')])
  await t.resolves(check, 'tsc -p web')
})

t.test('I-200 no source of the wizard stores data or puts data into an address', async (t) => {
  const files = await readdir(join(home, 'web'), { recursive: true })
  // Only these files may use the storage, the history or the address of the browser.
  const keep = [
    'admin/pages/row-actions.tsx',
    'admin/providers/provider-flow.ts',
    'admin/recovery/mail-link.ts',
    'admin/shell/drafts.ts',
    'admin/shell/kept-context.ts',
    'install/draft.ts',
    'install/use-wizard-step.ts',
  ]
  for (const file of files.filter((name) => /\.tsx?$/.test(name) && !keep.includes(name))) {
    const text = await readFile(join(home, 'web', file), 'utf8')
    t.notMatch(
      text,
      /localStorage|sessionStorage|indexedDB|\.cookie|history\.|location\.(?:hash|search|assign|replace)/,
      file,
    )
  }
})

/** This type compiles only if the page can read every value that the server sends. */
type Reads<Served extends Used, Used> = [Served, Used]
type Wire = [
  Reads<served.StatusView, used.InstallStatus>,
  Reads<served.CheckResult, used.CheckResult>,
  Reads<served.PlanResult, used.PlanResult>,
  Reads<served.StepView, used.Step>,
  Reads<served.RecordView, used.ExecutionRecord>,
  Reads<served.ExecuteView, used.ExecuteResult>,
  Reads<served.SchemaView, used.FormSchema>,
]

t.test('I-211 the types of the page equal the responses of the server', async (t) => {
  const checked: Wire['length'] = 7
  t.equal(checked, 7)
})

t.test('a key that is registered on a page is found, from the start and after a change', { skip }, async (t) => {
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<!doctype html><html lang="en"><title>A</title><main><h1>See messages.probe.gone</h1><p>b</p></main>')
  })
  await new Promise<void>((listens) => server.listen(0, '127.0.0.1', listens))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { page } = await openPage(t.teardown, `http://127.0.0.1:${port}/`)
  await page.evaluate(`document.querySelector('p').firstChild.data = 'x app.language'; document.title = 'app.back'`)
  await page.evaluate(`document.title = 'B'; document.querySelector('p').firstChild.data = 'language'`)
  const found = (await findAccessibilityProblems(page)).filter((barrier) => barrier.startsWith('key'))
  t.same(
    found.sort(),
    ['app.back', 'app.language', 'messages.probe.gone'].map((key) => `key of a text: ${key}`),
  )
})
