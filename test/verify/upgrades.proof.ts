/**
 * Tests that `plinth plugin verify` runs conformance kits itself, and that it tests upgrades from the previous version
 * of a plugin.
 */
import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { environmentName } from '@plinth/config-schema'
import { rejectsWith } from '@plinth/dev/testing'
import { createDatabase, everyDialect } from '@plinth/dev/testing/database'
import t from 'tap'
import { type VerifyDatabase, type VerifyOptions, verifyPlugin } from '../../dev/src/verify/verify-plugin.ts'
import { correctDiskFiles, correctUpgrade, kitFaults, upgradeFaults } from './kit-faults.ts'
import type { Files } from './other-plugins.ts'

const directory = t.testdir()
t.setTimeout(900_000)

function writePlugin(name: string, files: Files): string {
  const folder = join(directory, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}
const verify = async (options: Omit<VerifyOptions, 'directory'>) => {
  const report = await verifyPlugin({ directory, ...options })
  return { ...report, problems: report.checks.flatMap(({ problems }) => problems) }
}

t.test('violated contracts are found without a test of the author', { jobs: 2 }, async (t) => {
  for (const { name, fault, names, files } of kitFaults) {
    t.test(`${name}: ${fault}`, { buffered: true, timeout: 900_000 }, async (t) => {
      const { passed, problems } = await verify({ folder: writePlugin(name, files) })
      t.equal(passed, false)
      const found = problems.map(({ code, message }) => `${code}: ${message}`)
      const isFound = problems.some(
        ({ code, message }) => code === 'PLINTH_VERIFY_CONTRACT' && names.every((one) => message.includes(one)),
      )
      t.ok(isFound, names.join(', '), { found })
    })
  }
  t.test('a correct disk passes', { buffered: true, timeout: 900_000 }, async (t) => {
    const { problems } = await verify({ folder: writePlugin('acme-honest-disk', correctDiskFiles) })
    t.strictSame(problems, [])
  })
})

t.test('the faults of an upgrade are found', { jobs: 2 }, async (t) => {
  for (const { name, fault, code, old, files } of upgradeFaults) {
    t.test(`${name}: ${fault}`, { buffered: true, timeout: 900_000 }, async (t) => {
      const previous = writePlugin(`previous/${name}`, old)
      const { passed, checks, problems } = await verify({ folder: writePlugin(name, files), previous })
      t.equal(passed, false)
      const check = checks.find((one) => one.name === 'upgrade from 1.0.0 on sqlite')
      const found = problems.map(({ code, message }) => `${code}: ${message}`)
      t.ok(
        check?.problems.some((one) => one.code === code),
        code,
        { found },
      )
    })
  }
})

t.test('a correct upgrade passes on each database, from an archive', async (t) => {
  const previous = writePlugin('previous/acme-honest-upgrade', correctUpgrade.old)
  const [archive = ''] = execFileSync('npm', ['pack', '--loglevel', 'error'], {
    cwd: previous,
    encoding: 'utf8',
  }).split('\n')
  const databases: VerifyDatabase[] = []
  for (const { dialect, skip } of everyDialect) {
    if (dialect === 'sqlite' || skip !== false) continue
    const { config, drop } = await createDatabase(dialect)
    t.teardown(drop)
    const variables = Object.entries(config).map(([key, value]) => [environmentName(key), String(value)])
    databases.push({ name: dialect, environment: Object.fromEntries(variables) })
  }
  const folder = writePlugin('acme-honest-upgrade', correctUpgrade.files)
  const { checks, problems } = await verify({ folder, previous: join(previous, archive), databases })
  t.strictSame(problems, [])
  const upgrades = checks.filter(({ name }) => name.startsWith('upgrade from 1.0.0 on '))
  t.equal(upgrades.length, databases.length + 1)
  for (const { name, detail } of upgrades) t.equal(detail, '2 row(s) in 1 table(s)', name)
})

t.test('a previous version of another plugin is rejected', async (t) => {
  const folder = writePlugin('acme-small', {
    ...correctUpgrade.files,
    'package.json': '{ "name": "a", "version": "1.0.0" }',
  })
  const previous = writePlugin('previous/acme-other', correctUpgrade.old)
  for (const one of [previous, 'missing.tgz'])
    await rejectsWith(t, verifyPlugin({ directory, folder, previous: one }), { code: 'PLINTH_VERIFY_PREVIOUS' })
})
