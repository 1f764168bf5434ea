import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorTables } from '../scripts/error-page.ts'
import { proofFiles, testFiles } from '../scripts/test-files.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const tables = await errorTables()

t.test('every coded error is named after its package and written in two sentences', async (t) => {
  for (const { folder, codes } of tables) {
    const area = folder
      .replace(/^plugins\/|s$/g, '')
      .replaceAll('-', '_')
      .toUpperCase()
    const form = folder === 'kernel' || folder === 'dev' ? /^PLINTH_[A-Z_]+$/ : new RegExp(`^PLINTH_${area}S?_[A-Z_]+$`)
    t.not(Object.keys(codes).length, 0, folder)
    for (const [code, { text, fix }] of Object.entries(codes)) {
      t.match(code, form)
      t.match(text, /^\S.*[.}]$/, `the text of ${code} is a sentence`)
      t.match(fix, /^(?:[A-Z].*\.|\{\{fix\}\})$/, `the fix of ${code} is a sentence`)
    }
  }
})

t.test('every coded error is raised by its package, documented and expected by a test', async (t) => {
  const reference = read('docs/errors.md')
  const tests = [
    ...testFiles(root),
    ...proofFiles(root),
    ...globSync('test/{author-mistakes,verify}/*.ts', { cwd: root }),
  ]
  const expected = new Set(tests.flatMap((file) => read(file).match(/\bPLINTH_[A-Z0-9_]+\b/g) ?? []))
  const problems = tables.flatMap(({ folder, codes }) => {
    const sources = globSync(`${folder}/src/**/*.ts`, { cwd: root })
    const raised = new Set(sources.flatMap((file) => read(file).match(/(?<=')PLINTH_[A-Z0-9_]+(?=')/g) ?? []))
    return Object.keys(codes).flatMap((code) => [
      ...(raised.has(code) ? [] : [`${code} is raised nowhere`]),
      ...(reference.includes(`### ${code}\n`) ? [] : [`${code} is not documented`]),
      ...(expected.has(code) ? [] : [`${code} is expected by no test`]),
    ])
  })
  t.same(problems, [])
})

t.test('an error that is written in the code bypasses the reference', async (t) => {
  const sources = globSync('{migrations,plugins/*}/src/**/*.ts', { cwd: root })
  t.same(
    sources.filter((file) => /new PlinthError\(/.test(read(file))),
    [],
  )
})

t.test('C-047 the API description contains the reasons of all business errors of the plugins', async (t) => {
  const { 'x-reasons': reasons } = JSON.parse(read('docs/openapi.json'))
  const described = new Set(Object.keys(reasons).map((reason) => reason.split('.')[0]))
  const areas = globSync('plugins/*/src/**/*.ts', { cwd: root }).flatMap((file) =>
    [...read(file).matchAll(/\bdefineBusinessErrors\(\s*'([^']+)'/g)].map(([, area]) => area),
  )
  t.ok(areas.length >= 25)
  t.same(
    areas.filter((area) => !described.has(area)),
    [],
    'list the business errors in `businessErrors` of the plugin',
  )
})
