/** Tests that SQL which a package writes itself runs on each database in each run of the tests. */
import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import t from 'tap'

process.chdir(join(import.meta.dirname, '..'))

/** Matches a statement as text, and a change set that changes rows. */
const ownSql = /\.(?:query|execute)(?:<[^()]*>)?\(\s*[`'"\w]|\bdata: async|\basync data\(/

const packages = globSync('plugins/*/package.json').map(dirname)

t.test('each package with SQL of its own has a test that runs on each database', async (t) => {
  const contains = (files: string, pattern: RegExp) =>
    globSync(files).some((file) => pattern.test(readFileSync(file, 'utf8')))
  const withSql = packages.filter((folder) => contains(`${folder}/src/**/*.ts`, ownSql))
  for (const name of ['member-points', 'web3-settlement', 'iam', 'install', 'notification', 'system-config', 'inbox'])
    t.ok(withSql.includes(join('plugins', name)), `${name} is found`)
  t.strictSame(
    withSql.filter(
      (folder) =>
        !contains(`{${folder}/test,test/${basename(folder)}}/**/*.test.ts`, /\bonEachDatabase\(|\bof everyDialect\b/),
    ),
    [],
  )
})
