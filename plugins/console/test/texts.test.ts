import { execFile } from 'node:child_process'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type * as served from '@plinth/install'
import t from 'tap'
import centreEn from '../web/admin/own/config-centre/text/en.json' with { type: 'json' }
import centreZhCN from '../web/admin/own/config-centre/text/zh-CN.json' with { type: 'json' }
import pluginsEn from '../web/admin/own/product-plugins/text/en.json' with { type: 'json' }
import pluginsZhCN from '../web/admin/own/product-plugins/text/zh-CN.json' with { type: 'json' }
import rolesEn from '../web/admin/own/role-matrix/text/en.json' with { type: 'json' }
import rolesZhCN from '../web/admin/own/role-matrix/text/zh-CN.json' with { type: 'json' }
import adminEn from '../web/admin/text/en.json' with { type: 'json' }
import adminZhCN from '../web/admin/text/zh-CN.json' with { type: 'json' }
import type * as used from '../web/install/wire.ts'
import en from '../web/text/en.json' with { type: 'json' }
import zhCN from '../web/text/zh-CN.json' with { type: 'json' }

const home = join(import.meta.dirname, '..')

type Tree = { readonly [name: string]: string | Tree }
const flat = (tree: Tree, prefix = ''): [string, string][] =>
  Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'string' ? [[prefix + name, value] as [string, string]] : flat(value, `${prefix}${name}.`),
  )
const placeholders = (text: string) => (text.match(/\{\{\w+\}\}/g) ?? []).sort()

t.test('I-201 both languages have every text, with the same placeholders', async (t) => {
  const english = new Map([en, adminEn, centreEn, pluginsEn, rolesEn].flatMap((texts) => flat(texts)))
  const chinese = new Map([zhCN, adminZhCN, centreZhCN, pluginsZhCN, rolesZhCN].flatMap((texts) => flat(texts)))
  t.same([...chinese.keys()], [...english.keys()])
  for (const [key, text] of english) {
    t.not(text, '', key)
    t.same(placeholders(chinese.get(key) ?? ''), placeholders(text), key)
  }
})

t.test('the sources of the pages pass the type check of a browser', { timeout: 120_000 }, async (t) => {
  const tsc = join(home, '..', '..', 'node_modules', '.bin', 'tsc')
  const check = promisify(execFile)(tsc, ['-p', join(home, 'web')])
  await t.resolves(check, 'tsc -p web')
})

t.test('I-200 no source of the wizard stores anything or puts anything into an address', async (t) => {
  const files = await readdir(join(home, 'web'), { recursive: true })
  for (const file of files.filter((name) => /\.tsx?$/.test(name))) {
    const text = await readFile(join(home, 'web', file), 'utf8')
    t.notMatch(
      text,
      /localStorage|sessionStorage|indexedDB|\.cookie|history\.|location\.(?:hash|search|assign|replace)/,
      file,
    )
  }
})

/** Holds when every value that the server sends is one that the page can read. */
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

t.test('I-211 what the page reads is what the server sends, by their types', async (t) => {
  const checked: Wire['length'] = 7
  t.equal(checked, 7)
})
