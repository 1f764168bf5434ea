import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { database } from '@plinth/database'
import { assertMembers, programEnvironment, waitForProcessEnd } from '@plinth/dev/testing'
import { onDatabase, type TestDatabase } from '@plinth/dev/testing/database'
import type { CommandInvocation, PlinthError } from '@plinth/kernel'
import t, { type Test } from 'tap'
import { commands } from '../src/commands.ts'
import { startOn } from './fixtures/products.ts'

type Options = CommandInvocation['options']

/** Returns a function that runs commands as the program does, but in this process. */
async function commandLine(t: Test, db: TestDatabase) {
  const { running } = await startOn(t, db, { roles: ['cli'] })
  const plinth = async (name: string, args: readonly string[] = [], options: Options = {}) => {
    const command = commands.find((candidate) => candidate.name === name)
    const response = { value: undefined as unknown, text: '' }
    const output: CommandInvocation['output'] = {
      json: false,
      result: (value, shown) => Object.assign(response, { value, text: shown }),
      table: () => undefined,
      progress: () => undefined,
    }
    const signal = AbortSignal.timeout(60_000)
    const invocation = { args, options, output, signal, examine: async () => [] }
    const code = await command?.run(running.runtimeOf('system-config') as never, invocation)
    return { ...response, code: code ?? 0 }
  }
  const refused = (...request: Parameters<typeof plinth>) =>
    plinth(...request).then(
      () => ({ code: 'nothing', message: '', fix: '' }),
      ({ code, message, fix }: PlinthError) => ({ code, message, fix }),
    )
  return { plinth, refused, running }
}

onDatabase(t, 'plinth config set, reset, history, export, import and rollback', async (t, db) => {
  const { plinth, refused, running } = await commandLine(t, db)
  t.match(await refused('config history'), { code: /^PLINTH_SYSTEM_CONFIG_REFUSED$/, fix: /plinth migrate/ })
  await running.service(database).migrate()

  t.match(await plinth('config set', ['platform.sample.limit', '20'], { dryRun: true }), {
    code: 0,
    text: /-> 20; counts/,
  })
  t.match(await plinth('config set', ['platform.sample.limit', '20'], { reason: 'launch' }), {
    text: /^Version 1\nplatform\.sample\.limit: \(none\) -> 20; counts within seconds/,
  })
  t.match(await plinth('config set', ['platform.sample.mode', 'fast']), { text: /after a restart/ })
  t.match(await refused('config set', ['platform.sample.limit', '0']), { message: /must be at least 1/ })
  t.match(await refused('config set', ['platform.sample.limit', 'many']), { message: /must be a whole number/ })
  t.match(await refused('config set', ['platform.sample.limt', '1']), {
    message: /configuration key "platform\.sample\.limt" does not exist\. Did you mean "platform\.sample\.limit"\?/,
  })
  t.match(await refused('config reset', ['platform.sample.limt']), {
    message: /did you mean platform\.sample\.limit\?/,
  })
  t.match(await refused('config history', [], { key: 'platform.sample.limt' }), {
    message: /Did you mean "platform\.sample\.limit"/,
  })
  t.match(await refused('config set', ['platform.sample.safety', 'true']), { message: /never written here/ })
  t.match(await refused('config set', ['platform.sample.state', '1']), {
    message: /is internal state that only its plugin may write/,
  })
  t.match(await refused('config reset', ['platform.sample.state']), {
    message: /is internal state that only its plugin may write/,
  })
  const leaked = await refused('config set', ['platform.sample.secret', 'planted-secret'])
  t.match(leaked, { message: /standard input/ })
  t.notMatch(leaked.message, /planted/)

  const file = join(db.directory, 'export.json')
  t.match(await plinth('config export', [], { file }), { text: /2 values .* 0 secrets left out/ })
  const document = JSON.parse(readFileSync(file, 'utf8'))
  t.same(document.values, { 'platform.sample.limit': 20, 'platform.sample.mode': 'fast' })
  document.values = { 'platform.sample.limit': 30 }
  writeFileSync(file, JSON.stringify(document))
  t.match(await plinth('config import', [file], { dryRun: true }), { code: 0, text: /^.*: 20 -> 30; .*$/ })
  const removal = /^platform\.sample\.mode: "fast" -> \(none\)/m
  t.match(await plinth('config import', [file], { dryRun: true, replace: true }), { code: 0, text: removal })
  const imported = await plinth('config import', [file], { replace: true, reason: 'from the other host' })
  t.match(imported, { text: /^Version 3/ })
  t.match(imported, { text: removal })
  writeFileSync(file, JSON.stringify({ ...document, values: { 'platform.none': 1 } }))
  t.match(await plinth('config import', [file], { dryRun: true }), { code: 1, text: /refused: platform.none/ })
  t.match(await refused('config import', [join(db.directory, 'none.json')]), { message: /ENOENT/ })
  writeFileSync(file, '{"format":"other"}')
  t.match(await refused('config import', [file]), { message: /format is not/ })

  t.match(await plinth('config rollback', ['1'], { dryRun: true }), { text: /30 -> 20/ })
  t.match(await plinth('config rollback', ['1'], { reason: 'too many' }), { text: /^Version 4/ })
  t.match(await refused('config rollback', ['x']), { message: /version .*does not exist/ })
  const names = ['platform.sample.limit', 'platform.sample.window']
  t.match(await plinth('config reset', names, { dryRun: true }), { code: 0, text: /limit: 20 -> \(none\)/ })
  const reset = await plinth('config reset', names, { reason: 'the default is enough' })
  t.match(reset, { text: /platform\.sample\.window: .* was so already/ })
  const { value } = await plinth('config history')
  assertMembers(t, value, [
    { version: 5, origin: 'save', actor: /^cli:/, reason: /^the default is enough$/ },
    { version: 4, origin: 'rollback', reason: /^too many$/ },
    { version: 3, origin: 'import', reason: /^from the other host$/ },
    { version: 3, origin: 'import', reason: /^from the other host$/ },
    { version: 2, origin: 'save' },
    { version: 1, origin: 'save', reason: /^launch$/ },
  ])
  t.match(await plinth('config history', [], { key: 'platform.sample.mode', limit: '1' }), {
    text: /^3 {2}.* {2}cli:.* {2}import {2}platform\.sample\.mode: "fast" -> \(none\) {2}"from the other host"$/,
  })
  t.match(await refused('config history', [], { limit: '0' }), { message: /--limit/ })
  t.match(await plinth('secrets rotate'), { code: 0, value: { reencrypted: 0 } })
})

const program = join(import.meta.dirname, '..', '..', '..', 'kernel', 'src', 'cli', 'main.ts')
const fixtures = join(import.meta.dirname, 'fixtures', 'products.ts')

t.test('the program lists the commands in groups, and reads a secret from standard input', async (t) => {
  const data = mkdtempSync(join(tmpdir(), 'plinth-config-'))
  t.teardown(() => rmSync(data, { recursive: true, force: true }))
  const config = { 'platform.database.sqlite.file': join(data, 'test.sqlite') }
  const directory = t.testdir({
    'plinth.config.ts': `import { productOn } from ${JSON.stringify(fixtures)}
      export default productOn({ config: ${JSON.stringify(config)}, directory: ${JSON.stringify(data)} } as never)`,
  })
  const plinth = async (args: readonly string[], input = '') => {
    const child = spawn(process.execPath, [program, ...args], { cwd: directory, env: programEnvironment() })
    child.stdin.end(input)
    const { code, stdout: out, stderr: err } = await waitForProcessEnd(child)
    return { out, err, code }
  }
  const help = await plinth(['config', '--help'])
  for (const word of ['list', 'get', 'explain', 'set', 'reset', 'export', 'import', 'rollback', 'history', 'reseal']) {
    t.match(help.out, new RegExp(`^  ${word} `, 'm'))
  }
  t.match(await plinth(['migrate']), { code: 0 })
  const stored = await plinth(['config', 'set', 'platform.sample.secret', '--json'], 'planted-secret\n')
  t.match(stored, { code: 0, out: /"after": "\*{6}"/, err: '' })
  const resealed = await plinth(['config', 'reseal', '--json'])
  t.match(resealed, { code: 0, out: /"reencrypted": 2/ }, 'the value and its history entry')
  const rotated = await plinth(['secrets', 'rotate', '--json'])
  t.same({ ...rotated, out: JSON.parse(rotated.out).reencrypted }, { code: 0, err: '', out: 2 })
  t.notOk(readFileSync(join(data, 'test.sqlite'), 'latin1').includes('planted-secret'))

  const set = ['config', 'set', 'platform.sample.secret']
  t.match(await plinth(set, 'wrong-secret\n'), { code: 1, err: /the service refuses/ })
  t.match(await plinth([...set, '--no-verify'], 'wrong-secret\n'), { code: 0, out: /^Version 2/ })
  writeFileSync(join(data, 'master.key'), `${randomBytes(32).toString('base64')}\n`)
  t.match(await plinth(['secrets', 'rotate']), { code: 1 }, 'no key can decrypt the stored secret')
})
